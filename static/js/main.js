// Everything that pages do beyond links and forms; each module is one behaviour.
import "./acting.js";
import "./age.js";
import "./ask.js";
import "./at.js";
import "./dialog.js";
import "./errors.js";
import "./keys.js";
import "./moved.js";
import "./rows.js";
import "./select.js";
import "./time.js";
import "./live.js";
