internal import Store

/// Walks a run, one change after the other, through a buffer that it owns.
@safe struct RunReader: ~Copyable {
    private let file: RunFile
    private var buffer: UnsafeMutableRawBufferPointer
    /// What of the buffer is read from the file.
    private var filled = 0
    private var fileOffset = 0
    private var keyStart = 0
    private var keyBytes = 0
    /// One more than the value has; zero for a removal.
    private var valueMark = 0
    private(set) var isAtEnd = false
    /// The key's first bytes: most comparisons end there.
    private(set) var headOfKey: UInt64 = 0

    init(_ file: consuming RunFile, bufferBytes: Int) throws(StoreError) {
        self.file = file
        unsafe buffer = .allocate(byteCount: bufferBytes, alignment: 8)
        try advance()
    }

    deinit { unsafe buffer.deallocate() }

    var key: Span<UInt8> {
        @_lifetime(borrow self)
        get { unsafe _overrideLifetime(bytes(keyStart, keyBytes), borrowing: self) }
    }

    /// Nil for a removal.
    var value: Span<UInt8>? {
        @_lifetime(borrow self)
        get {
            guard valueMark > 0 else { return nil }
            return unsafe _overrideLifetime(bytes(keyStart + keyBytes, valueMark - 1), borrowing: self)
        }
    }

    /// `advance` has seen to it that they are in the buffer, where they are until it runs again.
    @unsafe @_lifetime(immortal)
    private func bytes(_ start: Int, _ count: Int) -> Span<UInt8> {
        let part = unsafe UnsafeRawBufferPointer(rebasing: buffer[start..<start + count])
        return unsafe _overrideLifetime(Span<UInt8>(_unsafeBytes: part), copying: ())
    }

    mutating func advance() throws(StoreError) {
        let start = keyStart + keyBytes + max(0, valueMark - 1)
        guard let head = try make(RunFile.headBytes, from: start) else {
            isAtEnd = true
            return
        }
        let marks = unsafe UInt64(littleEndian: buffer.loadUnaligned(fromByteOffset: head, as: UInt64.self))
        let (mark, keyCount) = (Int(marks & 0xFFFF_FFFF), Int(marks >> 32))
        let whole = RunFile.headBytes + keyCount + max(0, mark - 1)
        guard let offset = try make(whole, from: head) else {
            throw .corrupt(path: "a run of the restore", what: "it ends within a change")
        }
        keyStart = offset + RunFile.headBytes
        keyBytes = keyCount
        valueMark = mark
        unsafe headOfKey = bytes(keyStart, keyBytes).head
    }

    /// Sees to it that so many bytes from the offset on are in the buffer and returns where they are now; nil
    /// at the end of the file.
    private mutating func make(_ count: Int, from start: Int) throws(StoreError) -> Int? {
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
