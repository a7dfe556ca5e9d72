internal import CLinux

/// The settings of the allocator for freed memory.
package enum AllocatorSettings {
    /// The freed memory that a heap keeps for later allocations. More is returned to the system.
    package static let keptBytesDefault: Int32 = 64 << 20
    /// The size from which each allocation is a separate mapping that is returned to the system when freed.
    package static let mappedBytesDefault: Int32 = 32 << 20

    /// Keeps freed memory, for a process that works in batches: the memory of one batch serves the next. With
    /// the system's default limit (128 KiB), the memory is returned after each batch and requested page by
    /// page for the next.
    ///
    /// - Parameters:
    ///   - keptBytes: The limit of each heap. A process with many busy threads has many heaps.
    ///   - mappedBytes: Allocations of this size or more are not part of a heap.
    package static func keepFreedMemory(
        keptBytes: Int32 = keptBytesDefault, mappedBytes: Int32 = mappedBytesDefault
    ) {
        linux_keep_freed_memory(keptBytes, mappedBytes)
    }
}
