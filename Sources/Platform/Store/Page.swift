/// One page of LMDB's file as it is on disk (format 1, little-endian, 64 bit). Every offset is checked, so
/// all results are within the page.
///
/// A page begins with a head of 16 bytes: its number, its flags, and the bounds of its free space. The
/// positions of its nodes follow, two bytes each. The nodes are at the end of the page, and the free space is
/// in between. A long value fills several pages, and only the first one has a head.
struct Page {
    static let headBytes = 16
    static let rootBytes = 48

    /// Positions in the head, with LMDB's names of the fields (`MDB_page`).
    private enum Position {
        /// `mp_pgno`
        static let number = 0
        /// `mp_flags`
        static let flags = 10
        /// `mp_lower`, the start of the free space.
        static let freeSpaceStart = 12
        /// `mp_upper`, the end of the free space.
        static let freeSpaceEnd = 14
        /// `mp_pages`, in the first page of a long value.
        static let overflowPages = 12
    }

    struct PageFlags: OptionSet {
        let rawValue: UInt16
        static let branch = PageFlags(rawValue: 0x01)
        static let leaf = PageFlags(rawValue: 0x02)
        static let overflow = PageFlags(rawValue: 0x04)
        static let meta = PageFlags(rawValue: 0x08)
    }

    /// The root of a tree (`MDB_db`): the same 48 bytes in the meta pages and in the row of a named table.
    struct TreeRoot {
        /// The order of its keys.
        var flags: Int
        var depth: Int
        var entryCount: Int
        /// The number of the root page, or `none` for an empty tree.
        var page: Int
        static let none = -1
    }

    let bytes: [UInt8]

    var number: Int { integer(at: Position.number, size: 8) }
    var flags: PageFlags { PageFlags(rawValue: UInt16(integer(at: Position.flags, size: 2))) }
    /// The number of pages of a long value.
    var overflowPages: Int { integer(at: Position.overflowPages, size: 4) }

    private var freeSpaceEnd: Int { integer(at: Position.freeSpaceEnd, size: 2) }

    /// The number of nodes, or nil if the bounds of the free space are impossible.
    var nodeCount: Int? {
        let freeSpaceStart = integer(at: Position.freeSpaceStart, size: 2)
        guard freeSpaceStart >= Self.headBytes, freeSpaceStart <= freeSpaceEnd, freeSpaceEnd <= bytes.count,
            freeSpaceStart % 2 == 0
        else { return nil }
        return (freeSpaceStart - Self.headBytes) / 2
    }

    /// The bytes of the page that belong to its nodes, at its end.
    var nodeBytes: Int { bytes.count - freeSpaceEnd }

    /// Returns a node, or nil if it is not within the page.
    func node(at index: Int) -> PageNode? {
        let start = integer(at: Self.headBytes + 2 * index, size: 2)
        guard start >= freeSpaceEnd, start + PageNode.headBytes <= bytes.count else { return nil }
        let node = PageNode(page: self, start: start)
        return node.end <= bytes.count ? node : nil
    }

    /// Reads an integer of 2, 4 or 8 bytes.
    func integer(at position: Int, size: Int) -> Int {
        unsafe bytes.withUnsafeBytes { bytes in
            switch size {
            case 2: unsafe Int(bytes.loadUnaligned(fromByteOffset: position, as: UInt16.self))
            case 4: unsafe Int(bytes.loadUnaligned(fromByteOffset: position, as: UInt32.self))
            default: unsafe bytes.loadUnaligned(fromByteOffset: position, as: Int.self)
            }
        }
    }

    /// Reads the fields `md_flags`, `md_depth`, `md_entries` and `md_root`.
    func root(at position: Int) -> TreeRoot {
        TreeRoot(
            flags: integer(at: position + 4, size: 2), depth: integer(at: position + 6, size: 2),
            entryCount: integer(at: position + 32, size: 8),
            page: integer(at: position + 40, size: 8))
    }
}

/// One node of a page (`MDB_node`): a row of a leaf, or a branch to another page. A head of 8 bytes is
/// followed by the key. After it a row has its value, or the page number of a long value. A branch has its
/// page number in the head.
struct PageNode {
    static let headBytes = 8
    /// The size of a page number.
    private static let pageNumberBytes = 8

    let page: Page
    let start: Int

    private var flags: Int { page.integer(at: start + 4, size: 2) }
    /// Whether the value is too long for the page (`F_BIGDATA`).
    var isOverflow: Bool { flags & 0x01 != 0 }
    /// Whether the value is the root of a table (`F_SUBDATA`).
    var isTable: Bool { flags & 0x02 != 0 }
    var hasUnknownFlags: Bool { flags & ~0x03 != 0 }
    var keyBytes: Int { page.integer(at: start + 6, size: 2) }
    var valueBytes: Int { page.integer(at: start, size: 4) }
    /// The page number of a branch, in 48 bits.
    var childPageNumber: Int {
        page.integer(at: start, size: 2) | page.integer(at: start + 2, size: 2) << 16 | flags << 32
    }
    var keyStart: Int { start + Self.headBytes }
    var valueStart: Int { keyStart + keyBytes }
    var key: Span<UInt8> {
        @_lifetime(borrow self)
        get { page.bytes.span.extracting(keyStart..<valueStart) }
    }
    var overflowPageNumber: Int { page.integer(at: valueStart, size: 8) }

    /// The end of its bytes in this page.
    var end: Int {
        if page.flags.contains(.branch) { return valueStart }
        return valueStart + (isOverflow ? Self.pageNumberBytes : valueBytes)
    }

    /// The space that it takes in its page. LMDB aligns nodes to even addresses.
    var size: Int { (end - start + 1) & ~1 }
}
