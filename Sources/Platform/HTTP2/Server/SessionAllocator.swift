internal import CNghttp2

/// A memory allocator for one `nghttp2_session`. It has free lists of blocks of a few sizes (size classes),
/// which later streams reuse. nghttp2 allocates about eight blocks for each request. With this allocator a
/// block costs a few instructions, and the blocks of a session are close together.
///
/// It is confined to the session's thread. It holds as much memory as the session ever used at once, which
/// the limit on streams bounds. It frees everything when the session is gone.
///
/// A block begins with a header of 16 bytes: the index of its size class or, for a large block, its size.
@safe final class SessionAllocator {
    private static let headerBytes = 16
    /// Blocks have 64, 128, … 4,096 bytes, including the header. Larger blocks are allocated one by one.
    private static let sizeClasses = 7
    /// The smallest block has two to this power of bytes.
    private static let smallestShift = 6
    /// The size of the pieces of memory that are divided into blocks.
    private static let slabBytes = 16_384

    /// Indexed by size class: the first free block. A free block holds the address of the next one.
    private let freeBlocks: UnsafeMutablePointer<UnsafeMutableRawPointer?>
    private var slabs: [UnsafeMutableRawPointer] = unsafe []

    init() {
        unsafe freeBlocks = .allocate(capacity: SessionAllocator.sizeClasses)
        unsafe freeBlocks.initialize(repeating: nil, count: SessionAllocator.sizeClasses)
    }

    deinit {
        for index in unsafe slabs.indices { unsafe slabs[index].deallocate() }
        unsafe freeBlocks.deallocate()
    }

    /// The allocator for `nghttp2_session_*_new3`. The session must not outlive this object.
    var callbacks: nghttp2_mem {
        unsafe nghttp2_mem(
            mem_user_data: Unmanaged.passUnretained(self).toOpaque(), malloc: allocateBlock, free: freeBlock,
            calloc: allocateZeroed, realloc: resizeBlock)
    }

    fileprivate func allocate(byteCount count: Int) -> UnsafeMutableRawPointer? {
        let blockBytes = count + SessionAllocator.headerBytes
        // The smallest power of two that has this size.
        let shift = Int.bitWidth - (blockBytes - 1).leadingZeroBitCount
        let sizeClass = max(0, shift - SessionAllocator.smallestShift)
        guard sizeClass < SessionAllocator.sizeClasses else {
            return unsafe allocateLarge(byteCount: blockBytes)
        }
        if unsafe freeBlocks[sizeClass] == nil { refill(sizeClass: sizeClass) }
        guard let block = unsafe freeBlocks[sizeClass] else { return nil }
        unsafe freeBlocks[sizeClass] = block.load(as: UnsafeMutableRawPointer?.self)
        unsafe block.storeBytes(of: sizeClass, as: Int.self)
        return unsafe block + SessionAllocator.headerBytes
    }

    fileprivate func free(_ block: UnsafeMutableRawPointer) {
        let block = unsafe block - SessionAllocator.headerBytes
        let sizeClass = unsafe block.load(as: Int.self)
        guard sizeClass < SessionAllocator.sizeClasses else { return unsafe block.deallocate() }
        unsafe block.storeBytes(of: freeBlocks[sizeClass], as: UnsafeMutableRawPointer?.self)
        unsafe freeBlocks[sizeClass] = block
    }

    /// Returns the number of bytes that a block has for nghttp2.
    fileprivate static func capacity(of block: UnsafeMutableRawPointer) -> Int {
        let header = unsafe (block - headerBytes).load(as: Int.self)
        let blockBytes = header < sizeClasses ? 1 << (header + smallestShift) : header
        return blockBytes - headerBytes
    }

    /// Allocates a large block. Its header holds its size, which is greater than the index of any size class.
    private func allocateLarge(byteCount: Int) -> UnsafeMutableRawPointer? {
        let block = UnsafeMutableRawPointer.allocate(
            byteCount: byteCount, alignment: SessionAllocator.headerBytes)
        unsafe block.storeBytes(of: byteCount, as: Int.self)
        return unsafe block + SessionAllocator.headerBytes
    }

    /// Allocates a slab and adds its blocks to the free list of a size class.
    private func refill(sizeClass: Int) {
        let slab = UnsafeMutableRawPointer.allocate(byteCount: SessionAllocator.slabBytes, alignment: 64)
        unsafe slabs.append(slab)
        let blockBytes = 1 << (sizeClass + SessionAllocator.smallestShift)
        // From the last block to the first, so that they are taken in the order of their addresses.
        for offset in stride(from: SessionAllocator.slabBytes - blockBytes, through: 0, by: -blockBytes) {
            unsafe (slab + offset).storeBytes(of: freeBlocks[sizeClass], as: UnsafeMutableRawPointer?.self)
            unsafe freeBlocks[sizeClass] = slab + offset
        }
    }
}

// nghttp2 calls these functions inside calls of the session, with the allocator as `user`. The allocator is
// alive during these calls, so it is not retained.

private func withAllocator<R>(_ user: UnsafeMutableRawPointer?, body: (SessionAllocator) -> R) -> R {
    unsafe Unmanaged<SessionAllocator>.fromOpaque(user!)._withUnsafeGuaranteedRef(body)
}

private func allocateBlock(_ count: Int, _ user: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    unsafe withAllocator(user) { unsafe $0.allocate(byteCount: count) }
}

private func freeBlock(_ block: UnsafeMutableRawPointer?, _ user: UnsafeMutableRawPointer?) {
    if let block = unsafe block { unsafe withAllocator(user) { unsafe $0.free(block) } }
}

private func allocateZeroed(
    _ amount: Int, _ size: Int, _ user: UnsafeMutableRawPointer?
) -> UnsafeMutableRawPointer? {
    let (count, overflows) = amount.multipliedReportingOverflow(by: size)
    guard !overflows, let block = unsafe allocateBlock(count, user) else { return nil }
    unsafe block.initializeMemory(as: UInt8.self, repeating: 0, count: count)
    return unsafe block
}

private func resizeBlock(
    _ block: UnsafeMutableRawPointer?, _ count: Int, _ user: UnsafeMutableRawPointer?
) -> UnsafeMutableRawPointer? {
    guard let block = unsafe block else { return unsafe allocateBlock(count, user) }
    let capacity = unsafe SessionAllocator.capacity(of: block)
    if count <= capacity { return unsafe block }
    guard let larger = unsafe allocateBlock(count, user) else { return nil }
    unsafe larger.copyMemory(from: block, byteCount: capacity)
    unsafe freeBlock(block, user)
    return unsafe larger
}
