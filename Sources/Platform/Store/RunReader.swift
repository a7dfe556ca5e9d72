/// A reader that walks through the changes of one run. It reads the run in pieces, into its own buffer.
/// `RunFile` describes the layout of a change.
@safe struct RunReader: ~Copyable {
    private let file: RunFile
    private var buffer: UnsafeMutableRawBufferPointer
    /// The number of valid bytes at the start of the buffer.
    private var filled = 0
    /// The bytes of the run in the file that are not read yet.
    private var unread: Range<Int>
    /// The position of the current change in the buffer.
    private var keyStart = 0
    private var keyBytes = 0
    /// The length of the value plus one. Zero for a removal.
    private var valueBytesPlusOne = 0
    private(set) var isAtEnd = false
    /// The first bytes of the key. Most comparisons end there.
    private(set) var keyPrefix: UInt64 = 0

    /// - Parameter run: The position of the run in the file.
    init(_ file: RunFile, run: Range<Int>, bufferBytes: Int) throws(StoreError) {
        self.file = file
        unread = run
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

    /// Moves to the next change.
    mutating func advance() throws(StoreError) {
        let nextStart = keyStart + keyBytes + max(0, valueBytesPlusOne - 1)
        guard let headStart = try load(RunFile.headBytes, from: nextStart) else {
            isAtEnd = true
            return
        }
        let head = unsafe UInt64(
            littleEndian: buffer.loadUnaligned(fromByteOffset: headStart, as: UInt64.self))
        let (nextValueBytesPlusOne, nextKeyBytes) = (Int(head & 0xFFFF_FFFF), Int(head >> 32))
        let changeBytes = RunFile.headBytes + nextKeyBytes + max(0, nextValueBytesPlusOne - 1)
        guard let start = try load(changeBytes, from: headStart) else {
            throw .corrupt(path: "a run of the restore", damage: "the file ends within a change")
        }
        keyStart = start + RunFile.headBytes
        keyBytes = nextKeyBytes
        valueBytesPlusOne = nextValueBytesPlusOne
        unsafe keyPrefix = bytes(from: keyStart, count: keyBytes).keyPrefix
    }

    /// Ensures that `count` bytes from an offset in the buffer on are loaded, and returns their new offset.
    /// The bytes before them are dropped. Returns nil at the end of the run.
    private mutating func load(_ count: Int, from start: Int) throws(StoreError) -> Int? {
        if start + count <= filled { return start }
        let keptBytes = filled - start
        if unsafe buffer.count < count {
            let larger = UnsafeMutableRawBufferPointer.allocate(byteCount: 2 * count, alignment: 8)
            unsafe larger.copyMemory(from: UnsafeRawBufferPointer(rebasing: buffer[start..<filled]))
            unsafe buffer.deallocate()
            unsafe buffer = larger
        } else {
            unsafe buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: buffer[start..<filled]))
        }
        filled = keptBytes
        while filled < count {
            let end = unsafe filled + min(buffer.count - filled, unread.count)
            if end == filled { return nil }
            let freePart = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[filled..<end])
            let readBytes = unsafe try file.read(at: unread.lowerBound, into: freePart)
            if readBytes == 0 { return nil }
            filled += readBytes
            unread = unread.lowerBound + readBytes..<unread.upperBound
        }
        return 0
    }
}
