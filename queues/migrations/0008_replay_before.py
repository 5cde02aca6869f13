"""What an edited job was given before, so that its report can tell what was edited."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("queues", "0007_replays")]

    operations = [
        migrations.AddField(
            model_name="replay",
            name="before",
            field=models.BinaryField(
                help_text="beside `data`: what would have been sent unedited; kept and deleted with it", null=True
            ),
        ),
    ]
