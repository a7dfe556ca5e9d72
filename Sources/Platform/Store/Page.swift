/// One page of LMDB's file as it is on disk (format 1, little-endian, 64 bit). Every offset is checked, so
/// all results are within the page.
struct Page {
    static let headBytes = 16
    static let rootBytes = 48

    struct PageFlags: OptionSet {
        let rawValue: UInt16
        static let branch = PageFlags(rawValue: 0x01)
        static let leaf = PageFlags(rawValue: 0x02)
        static let overflow = PageFlags(rawValue: 0x04)
        static let meta = PageFlags(rawValue: 0x08)
    }

    /// The root of a tree: the same 48 bytes in the head pages and in the row of a named table.
    struct TreeRoot {
        /// The order of its keys.
        var flags: Int
        var depth: Int
        var entryCount: Int
        var page: Int
        static let none = -1
    }

    let bytes: [UInt8]

    var number: Int { integer(at: 0, size: 8) }
    var flags: PageFlags { PageFlags(rawValue: UInt16(integer(at: 10, size: 2))) }
    /// The number of pages of a long value.
    var overflowPages: Int { integer(at: 12, size: 4) }

    /// Nil if the head does not fit the page.
    var nodeCount: Int? {
        let lower = integer(at: 12, size: 2)
        let upper = integer(at: 14, size: 2)
        guard lower >= Self.headBytes, lower <= upper, upper <= bytes.count, lower % 2 == 0 else {
            return nil
        }
        return (lower - Self.headBytes) / 2
    }

    /// The bytes of the page that belong to its nodes, at its end.
    var nodeBytes: Int { bytes.count - integer(at: 14, size: 2) }

    /// Returns a node, or nil if it is not within the page.
    func node(at index: Int) -> PageNode? {
        let start = integer(at: Self.headBytes + 2 * index, size: 2)
        guard start >= integer(at: 14, size: 2), start + 8 <= bytes.count else { return nil }
        let node = PageNode(page: self, start: start)
        return node.end <= bytes.count ? node : nil
    }

    func integer(at: Int, size: Int) -> Int {
        unsafe bytes.withUnsafeBytes { bytes in
            switch size {
            case 2: unsafe Int(bytes.loadUnaligned(fromByteOffset: at, as: UInt16.self))
            case 4: unsafe Int(bytes.loadUnaligned(fromByteOffset: at, as: UInt32.self))
            default: unsafe bytes.loadUnaligned(fromByteOffset: at, as: Int.self)
            }
        }
    }

    func root(at: Int) -> TreeRoot {
        TreeRoot(
            flags: integer(at: at + 4, size: 2), depth: integer(at: at + 6, size: 2),
            entryCount: integer(at: at + 32, size: 8),
            page: integer(at: at + 40, size: 8))
    }
}

/// One row of a leaf, or one branch: 8 bytes of sizes, the key, and the value or a page number.
struct PageNode {
    let page: Page
    let start: Int

    private var flags: Int { page.integer(at: start + 4, size: 2) }
    var isOverflow: Bool { flags & 0x01 != 0 }
    var isTable: Bool { flags & 0x02 != 0 }
    var hasUnknownFlags: Bool { flags & ~0x03 != 0 }
    var keyBytes: Int { page.integer(at: start + 6, size: 2) }
    var valueBytes: Int { page.integer(at: start, size: 4) }
    var child: Int {
        page.integer(at: start, size: 2) | page.integer(at: start + 2, size: 2) << 16 | flags << 32
    }
    var keyStart: Int { start + 8 }
    var valueStart: Int { keyStart + keyBytes }
    var key: Span<UInt8> {
        @_lifetime(borrow self)
        get { page.bytes.span.extracting(keyStart..<valueStart) }
    }
    var overflowPageNumber: Int { page.integer(at: valueStart, size: 8) }

    /// The end of its bytes in this page.
    var end: Int {
        if page.flags.contains(.branch) { return valueStart }
        return valueStart + (isOverflow ? 8 : valueBytes)
    }

    /// The space that it takes in its page. LMDB aligns nodes to even addresses.
    var size: Int { (end - start + 1) & ~1 }
}
