/// The checks of values: a row with its checksum, the root of a table, or free pages.
extension TreeCheck {
    /// Returns the row's part of its table's sum.
    mutating func checkValue(of node: PageNode, in tree: TreeKind) throws(Damage) -> UInt32? {
        guard !node.hasUnknownFlags, node.isTable == (tree == .tableNames) else {
            throw Damage("page \(node.page.number) has a row of an unknown kind")
        }
        switch tree {
        case .tableNames: try checkTable(at: node)
        case .free:
            let long = try overflowPage(of: node)
            try checkFreePages(
                of: node, in: long ?? node.page, at: long == nil ? node.valueStart : Page.headBytes)
        case .applied, .tableRows:
            if let long = try overflowPage(of: node) {
                let end = Page.headBytes + node.valueBytes
                return try checkRow(
                    in: node, stored: long.bytes.span.extracting(Page.headBytes..<end), of: tree)
            }
            return try checkRow(
                in: node, stored: node.page.bytes.span.extracting(node.valueStart..<node.end), of: tree)
        }
        return nil
    }

    private mutating func checkTable(at node: PageNode) throws(Damage) {
        guard !node.isOverflow, node.valueBytes == Page.rootBytes else { throw Damage("a table has no root") }
        let root = node.page.root(at: node.valueStart)
        // Flags would change the order of keys.
        guard root.flags == 0 else { throw Damage("a table has unknown flags") }
        try walk(table: TableSums.name(from: node.key), root: root)
    }

    private mutating func checkRow(
        in node: PageNode, stored: Span<UInt8>, of tree: TreeKind
    ) throws(Damage) -> UInt32? {
        guard RowChecksum.isValid(key: node.key, stored: stored),
            let sum = RowChecksum.storedChecksum(in: stored)
        else {
            throw Damage("page \(node.page.number): a row fails its checksum")
        }
        guard tree == .applied, TableSums.isKey(node.key) else { return sum }
        guard let sums = TableSums.parse(stored.extracting(RowChecksum.byteCount..<stored.count)) else {
            throw Damage("the sums of its tables cannot be read")
        }
        storedSums = Dictionary(sums.map { ($0.name, $0.sum) }, uniquingKeysWith: { first, _ in first })
        return nil
    }

    /// Returns the pages of a value that is too long for its row's page, or nil.
    private mutating func overflowPage(of node: PageNode) throws(Damage) -> Page? {
        guard node.isOverflow else { return nil }
        let first = try pages.page(at: node.overflowPageNumber)
        let needed = (Page.headBytes - 1 + node.valueBytes) / metaPage.pageBytes + 1
        // A value that became shorter keeps its pages.
        guard first.number == node.overflowPageNumber, first.flags == .overflow,
            first.overflowPages >= needed,
            first.overflowPages <= pages.count - node.overflowPageNumber
        else { throw Damage("page \(node.overflowPageNumber) is not the long value that belongs there") }
        try claimPages(from: node.overflowPageNumber, count: first.overflowPages)
        return try pages.page(at: node.overflowPageNumber, pages: needed)
    }

    /// Checks a list of free pages. Its key is the transaction that freed them. The value is a count and the
    /// page numbers, the highest first.
    private mutating func checkFreePages(of node: PageNode, in page: Page, at start: Int) throws(Damage) {
        let bytes = node.valueBytes
        guard bytes >= 8, bytes % 8 == 0, (0..<bytes / 8).contains(page.integer(at: start, size: 8)) else {
            throw Damage("the list of free pages has a wrong length")
        }
        guard (0...metaPage.lastTransaction).contains(node.page.integer(at: node.keyStart, size: 8)) else {
            throw Damage("the list of free pages has an unknown transaction")
        }
        var last = Int.max
        for index in 0..<page.integer(at: start, size: 8) {
            let free = page.integer(at: start + 8 + 8 * index, size: 8)
            guard free < last else { throw Damage("the list of free pages is out of order") }
            last = free
            try claimPages(from: free, count: 1)
        }
    }
}
