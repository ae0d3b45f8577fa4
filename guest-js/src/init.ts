// The entry of the plugin's init script (`dist/init-iife.js`): runs in every document before the page's own scripts.

import { installMcpApi } from './install';

installMcpApi();
