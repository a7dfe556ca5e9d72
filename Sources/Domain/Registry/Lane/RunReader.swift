internal import Store

/// A reader that walks the changes of a run through its own buffer.
@safe struct RunReader: ~Copyable {
    private let file: RunFile
    private var buffer: UnsafeMutableRawBufferPointer
    /// The number of buffer bytes that were read from the file.
    private var filled = 0
    private var fileOffset = 0
    private var keyStart = 0
    private var keyBytes = 0
    /// The length of the value plus one. Zero for a removal.
    private var valueBytesPlusOne = 0
    private(set) var isAtEnd = false
    /// The first bytes of the key. Most comparisons end there.
    private(set) var keyPrefix: UInt64 = 0

    init(_ file: consuming RunFile, bufferBytes: Int) throws(StoreError) {
        self.file = file
        unsafe buffer = .allocate(byteCount: bufferBytes, alignment: 8)
        try advance()
    }

    deinit { unsafe buffer.deallocate() }

    var key: Span<UInt8> {
        @_lifetime(borrow self)
        get { unsafe _overrideLifetime(bytes(from: keyStart, count: keyBytes), borrowing: self) }
    }

    /// Nil for a removal.
    var value: Span<UInt8>? {
        @_lifetime(borrow self)
        get {
            guard valueBytesPlusOne > 0 else { return nil }
            return unsafe _overrideLifetime(
                bytes(from: keyStart + keyBytes, count: valueBytesPlusOne - 1), borrowing: self)
        }
    }

    /// Returns bytes of the buffer. `advance` loaded them, and they stay valid until the next `advance`.
    @unsafe @_lifetime(immortal)
    private func bytes(from start: Int, count: Int) -> Span<UInt8> {
        let part = unsafe UnsafeRawBufferPointer(rebasing: buffer[start..<start + count])
        return unsafe _overrideLifetime(Span<UInt8>(_unsafeBytes: part), copying: ())
    }

    mutating func advance() throws(StoreError) {
        let start = keyStart + keyBytes + max(0, valueBytesPlusOne - 1)
        guard let head = try load(RunFile.headBytes, from: start) else {
            isAtEnd = true
            return
        }
        let marks = unsafe UInt64(littleEndian: buffer.loadUnaligned(fromByteOffset: head, as: UInt64.self))
        let (mark, keyCount) = (Int(marks & 0xFFFF_FFFF), Int(marks >> 32))
        let whole = RunFile.headBytes + keyCount + max(0, mark - 1)
        guard let offset = try load(whole, from: head) else {
            throw .corrupt(path: "a run of the restore", what: "the file ends within a change")
        }
        keyStart = offset + RunFile.headBytes
        keyBytes = keyCount
        valueBytesPlusOne = mark
        unsafe keyPrefix = bytes(from: keyStart, count: keyBytes).keyPrefix
    }

    /// Ensures that `count` bytes from the offset on are in the buffer, and returns their new offset. Returns
    /// nil at the end of the file.
    private mutating func load(_ count: Int, from start: Int) throws(StoreError) -> Int? {
        if start + count <= filled { return start }
        let kept = filled - start
        if unsafe buffer.count < count {
            let larger = UnsafeMutableRawBufferPointer.allocate(byteCount: 2 * count, alignment: 8)
            unsafe larger.copyMemory(from: UnsafeRawBufferPointer(rebasing: buffer[start..<filled]))
            unsafe buffer.deallocate()
            unsafe buffer = larger
        } else {
            unsafe buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: buffer[start..<filled]))
        }
        filled = kept
        while filled < count {
            let room = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[filled...])
            let read = unsafe try file.read(at: fileOffset, into: room)
            if read == 0 { return nil }
            filled += read
            fileOffset += read
        }
        return 0
    }
}
