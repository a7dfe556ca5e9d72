internal import CLinux

/// The limits up to which glibc's allocator keeps freed memory for the process.
package enum AllocatorSettings {
    /// The freed memory that a heap keeps for later allocations. A heap returns more to the system.
    package static let keptBytesDefault: Int32 = 64 << 20
    /// The size from which an allocation is not part of a heap but a separate mapping, which returns to the
    /// system when it is freed.
    package static let mappedBytesDefault: Int32 = 32 << 20

    /// Keeps freed memory, for a process that works in batches: the memory of one batch serves the next. With
    /// glibc's default limit (128 KiB), a heap returns the memory after each batch and requests it page by
    /// page for the next.
    ///
    /// - Parameters:
    ///   - keptBytes: The limit for one heap. A process with many busy threads has many heaps.
    ///   - mappedBytes: Allocations of this size or more are not part of a heap.
    package static func keepFreedMemory(
        keptBytes: Int32 = keptBytesDefault, mappedBytes: Int32 = mappedBytesDefault
    ) {
        linux_keep_freed_memory(keptBytes, mappedBytes)
    }
}
