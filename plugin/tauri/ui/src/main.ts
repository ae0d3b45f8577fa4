import './style.css';
import { mount } from 'svelte';
import App from './App.svelte';
import { host } from './lib/host.svelte';
import { router } from './lib/route.svelte';

router.start();
void host.start();
mount(App, { target: document.body });
