/// One page of LMDB's file as it is on disk (format 1, little-endian, 64 bit). Every offset is checked, so
/// all results are within the page.
struct Page {
    static let headBytes = 16
    static let rootBytes = 48

    struct Kind: OptionSet {
        let rawValue: UInt16
        static let branch = Kind(rawValue: 0x01)
        static let leaf = Kind(rawValue: 0x02)
        static let overflow = Kind(rawValue: 0x04)
        static let meta = Kind(rawValue: 0x08)
    }

    /// The root of a tree: the same 48 bytes in the head pages and in the row of a named table.
    struct Root {
        /// The order of its keys.
        var flags: Int
        var depth: Int
        var entries: Int
        var page: Int
        static let none = -1
    }

    let bytes: [UInt8]

    var number: Int { integer(0, 8) }
    var kind: Kind { Kind(rawValue: UInt16(integer(10, 2))) }
    /// The number of pages of a long value.
    var overflowPages: Int { integer(12, 4) }

    /// Nil if the head does not fit the page.
    var nodeCount: Int? {
        let lower = integer(12, 2)
        let upper = integer(14, 2)
        guard lower >= Self.headBytes, lower <= upper, upper <= bytes.count, lower % 2 == 0 else {
            return nil
        }
        return (lower - Self.headBytes) / 2
    }

    /// The bytes of the page that belong to its nodes, at its end.
    var nodeBytes: Int { bytes.count - integer(14, 2) }

    /// Returns a node, or nil if it is not within the page.
    func node(_ index: Int) -> Node? {
        let start = integer(Self.headBytes + 2 * index, 2)
        guard start >= integer(14, 2), start + 8 <= bytes.count else { return nil }
        let node = Node(page: self, start: start)
        return node.end <= bytes.count ? node : nil
    }

    func integer(_ at: Int, _ size: Int) -> Int {
        unsafe bytes.withUnsafeBytes { bytes in
            switch size {
            case 2: unsafe Int(bytes.loadUnaligned(fromByteOffset: at, as: UInt16.self))
            case 4: unsafe Int(bytes.loadUnaligned(fromByteOffset: at, as: UInt32.self))
            default: unsafe bytes.loadUnaligned(fromByteOffset: at, as: Int.self)
            }
        }
    }

    func root(_ at: Int) -> Root {
        Root(
            flags: integer(at + 4, 2), depth: integer(at + 6, 2), entries: integer(at + 32, 8),
            page: integer(at + 40, 8))
    }
}

/// One row of a leaf, or one branch: 8 bytes of sizes, the key, and the value or a page number.
struct Node {
    let page: Page
    let start: Int

    private var flags: Int { page.integer(start + 4, 2) }
    var isLong: Bool { flags & 0x01 != 0 }
    var isTable: Bool { flags & 0x02 != 0 }
    var hasUnknownFlags: Bool { flags & ~0x03 != 0 }
    var keyBytes: Int { page.integer(start + 6, 2) }
    var valueBytes: Int { page.integer(start, 4) }
    var child: Int { page.integer(start, 2) | page.integer(start + 2, 2) << 16 | flags << 32 }
    var keyStart: Int { start + 8 }
    var valueStart: Int { keyStart + keyBytes }
    var key: Span<UInt8> {
        @_lifetime(borrow self)
        get { page.bytes.span.extracting(keyStart..<valueStart) }
    }
    var longPage: Int { page.integer(valueStart, 8) }

    /// The end of its bytes in this page.
    var end: Int {
        if page.kind.contains(.branch) { return valueStart }
        return valueStart + (isLong ? 8 : valueBytes)
    }

    /// The space that it takes in its page. LMDB aligns nodes to even addresses.
    var size: Int { (end - start + 1) & ~1 }
}
