"""What the pages of failures need besides their views: forms, charts, what a query string asks for, exports."""
