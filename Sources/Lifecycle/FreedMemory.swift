internal import CLinux

/// What the allocator does with freed memory.
package enum FreedMemory {
    /// Kept at the end of a heap for what is allocated next; more goes back to the system.
    package static let keptBytesUsual: Int32 = 64 << 20
    /// Larger pieces are mapped and given back one by one.
    package static let mappedBytesUsual: Int32 = 32 << 20

    /// For a process that works in batches: the memory of one serves the next. By the usual limits (128 KiB)
    /// it goes back to the system after each, and is asked for, page by page, for the next.
    ///
    /// - Parameters:
    ///   - keptBytes: of each heap; a process with many threads that work has many.
    ///   - mappedBytes: pieces as large as this are no part of a heap.
    package static func keep(keptBytes: Int32 = keptBytesUsual, mappedBytes: Int32 = mappedBytesUsual) {
        linux_keep_freed_memory(keptBytes, mappedBytes)
    }
}
