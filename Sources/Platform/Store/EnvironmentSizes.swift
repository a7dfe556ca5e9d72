/// The sizes of one environment.
package struct EnvironmentSizes: Sendable, Equatable {
    /// The size of the file's pages up to the last used one.
    package var usedBytes = 0
    /// The size of the address space that LMDB maps.
    package var mapBytes = 0
}
