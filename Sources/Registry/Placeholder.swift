enum RegistryPlaceholder {}
