internal import CNghttp2

/// Memory for one `nghttp2_session`: blocks of a few sizes that are reused by later streams. nghttp2
/// allocates about eight blocks for each request. With this pool each costs a few instructions, and a
/// session's blocks are close together.
///
/// It is confined to the session's thread. It holds as much as the session ever used at once, which the limit
/// on streams bounds. It frees everything when the session is gone.
@safe final class SessionAllocator {
    private static let headerBytes = 16
    private static let smallestShift = 6
    /// Block sizes are 64, 128, … 4,096 bytes, including the header. Larger blocks come from `malloc`.
    private static let sizeClasses = 7
    private static let slabBytes = 16_384

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
        let total = count + SessionAllocator.headerBytes
        let shift = Int.bitWidth - (total - 1).leadingZeroBitCount
        let index = max(0, shift - SessionAllocator.smallestShift)
        guard index < SessionAllocator.sizeClasses else { return unsafe allocateLarge(byteCount: total) }
        if unsafe freeBlocks[index] == nil { refill(sizeClass: index) }
        guard let block = unsafe freeBlocks[index] else { return nil }
        unsafe freeBlocks[index] = block.load(as: UnsafeMutableRawPointer?.self)
        unsafe block.storeBytes(of: index, as: Int.self)
        return unsafe block + SessionAllocator.headerBytes
    }

    fileprivate func free(_ block: UnsafeMutableRawPointer) {
        let block = unsafe block - SessionAllocator.headerBytes
        let index = unsafe block.load(as: Int.self)
        guard index < SessionAllocator.sizeClasses else { return unsafe block.deallocate() }
        unsafe block.storeBytes(of: freeBlocks[index], as: UnsafeMutableRawPointer?.self)
        unsafe freeBlocks[index] = block
    }

    /// Returns the capacity of a block in bytes.
    fileprivate static func capacity(of block: UnsafeMutableRawPointer) -> Int {
        let index = unsafe (block - headerBytes).load(as: Int.self)
        return (index < sizeClasses ? 1 << (index + smallestShift) : index) - headerBytes
    }

    /// Allocates a large block. Its header holds its size, which is greater than any class index.
    private func allocateLarge(byteCount total: Int) -> UnsafeMutableRawPointer? {
        let block = UnsafeMutableRawPointer.allocate(
            byteCount: total, alignment: SessionAllocator.headerBytes)
        unsafe block.storeBytes(of: total, as: Int.self)
        return unsafe block + SessionAllocator.headerBytes
    }

    private func refill(sizeClass index: Int) {
        let slab = UnsafeMutableRawPointer.allocate(byteCount: SessionAllocator.slabBytes, alignment: 64)
        unsafe slabs.append(slab)
        let size = 1 << (index + SessionAllocator.smallestShift)
        // Adds blocks from the end, so that they are taken in the order of their addresses.
        for offset in stride(from: SessionAllocator.slabBytes - size, through: 0, by: -size) {
            unsafe (slab + offset).storeBytes(of: freeBlocks[index], as: UnsafeMutableRawPointer?.self)
            unsafe freeBlocks[index] = slab + offset
        }
    }
}

// nghttp2 calls these functions inside the session's own calls, with the memory, which is alive during them.

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
    let (count, isTooMuch) = amount.multipliedReportingOverflow(by: size)
    guard !isTooMuch, let block = unsafe allocateBlock(count, user) else { return nil }
    unsafe block.initializeMemory(as: UInt8.self, repeating: 0, count: count)
    return unsafe block
}

private func resizeBlock(
    _ block: UnsafeMutableRawPointer?, _ count: Int, _ user: UnsafeMutableRawPointer?
) -> UnsafeMutableRawPointer? {
    guard let block = unsafe block else { return unsafe allocateBlock(count, user) }
    let room = unsafe SessionAllocator.capacity(of: block)
    if count <= room { return unsafe block }
    guard let larger = unsafe allocateBlock(count, user) else { return nil }
    unsafe larger.copyMemory(from: block, byteCount: room)
    unsafe freeBlock(block, user)
    return unsafe larger
}
