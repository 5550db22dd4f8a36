/**
 * Where the page begins.
 * @module
 */

import { dress } from "./settings.js";
import "./app.js";

dress();
