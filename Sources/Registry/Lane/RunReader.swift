internal import Store

/// Walks a run, one change after the other, through a buffer.
struct RunReader: ~Copyable {
    private let file: RunFile
    private var buffer: [UInt8]
    /// What of the buffer is read from the file.
    private var filled = 0
    private var filePlace = 0
    private var keyStart = 0
    private var keyBytes = 0
    /// One more than the value has; zero for a removal.
    private var valueMark = 0
    private(set) var isAtEnd = false
    /// The key's first bytes: most comparisons end there.
    private(set) var headOfKey: UInt64 = 0

    init(_ file: consuming RunFile, bufferBytes: Int) throws(StoreError) {
        self.file = file
        buffer = Array(repeating: 0, count: bufferBytes)
        try advance()
    }

    var key: Span<UInt8> {
        @_lifetime(borrow self)
        get { buffer.span.extracting(keyStart..<keyStart + keyBytes) }
    }

    /// Nil for a removal.
    var value: Span<UInt8>? {
        @_lifetime(borrow self)
        get {
            guard valueMark > 0 else { return nil }
            let start = keyStart + keyBytes
            return buffer.span.extracting(start..<start + valueMark - 1)
        }
    }

    mutating func advance() throws(StoreError) {
        let start = keyStart + keyBytes + max(0, valueMark - 1)
        guard let head = try make(RunFile.headBytes, from: start) else {
            isAtEnd = true
            return
        }
        let keyCount = Int(buffer.span.number(at: head, bytes: 2))
        let mark = Int(buffer.span.number(at: head + 2, bytes: 4))
        let whole = RunFile.headBytes + keyCount + max(0, mark - 1)
        guard let place = try make(whole, from: head) else {
            throw .corrupt(path: "a run of the restore", what: "it ends within a change")
        }
        keyStart = place + RunFile.headBytes
        keyBytes = keyCount
        valueMark = mark
        headOfKey = buffer.span.extracting(keyStart..<keyStart + keyBytes).head
    }

    /// Sees to it that so many bytes from the place are in the buffer and returns where they are now; nil
    /// at the end of the file.
    private mutating func make(_ count: Int, from start: Int) throws(StoreError) -> Int? {
        if start + count <= filled { return start }
        let kept = filled - start
        for index in 0..<kept { buffer[index] = buffer[start + index] }
        if buffer.count < count { buffer += Array(repeating: 0, count: count - buffer.count) }
        filled = kept
        while filled < count {
            let read = try file.read(at: filePlace, into: &buffer, from: filled)
            if read == 0 { return nil }
            filled += read
            filePlace += read
        }
        return 0
    }
}
