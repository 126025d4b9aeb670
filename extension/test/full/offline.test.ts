// What is packed for this platform with every wheel inside: it is set up where no package index can be reached.
import { requirement } from '../requirement';
import { firstUse, packed } from './first-use';

const NOWHERE = 'http://127.0.0.1:9/';

firstUse('offline', requirement('extension:python:offline'), () => process.env.TREEWRIGHT_TEST_OFFLINE_VSIX ?? packed('--offline'), {
  PIP_CONFIG_FILE: '/dev/null',
  PIP_INDEX_URL: NOWHERE,
  PIP_EXTRA_INDEX_URL: '',
  PIP_FIND_LINKS: '',
  PIP_RETRIES: '0',
  http_proxy: NOWHERE,
  https_proxy: NOWHERE,
});
