"""Commands as modules of other commands."""
import importlib.machinery
import importlib.util


def script(path):
    """A command without a suffix, as a module."""
    loader = importlib.machinery.SourceFileLoader(path.name.replace("-", "_"), str(path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module
