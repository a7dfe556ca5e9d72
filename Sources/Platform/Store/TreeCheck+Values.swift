/// The checks of the values in the leaves: a row with its checksum, the root of a table, or a list of free
/// pages.
extension TreeCheck {
    /// Checks the value of a leaf's node. Returns the checksum that counts for the sum of its table, or nil
    /// if the node is no row of a table.
    mutating func checkValue(of node: PageNode, in tree: TreeKind) throws(Damage) -> UInt32? {
        guard !node.hasUnknownFlags, node.isTable == (tree == .tableNames) else {
            throw Damage("page \(node.page.number) has a row of an unknown kind")
        }
        switch tree {
        case .tableNames: try checkTable(at: node)
        case .freePages:
            if let overflowPage = try overflowPage(of: node) {
                try checkFreePages(of: node, in: overflowPage, at: Page.headBytes)
            } else {
                try checkFreePages(of: node, in: node.page, at: node.valueStart)
            }
        case .appliedProgress, .tableRows:
            if let overflowPage = try overflowPage(of: node) {
                let valueEnd = Page.headBytes + node.valueBytes
                return try checkRow(
                    in: node, stored: overflowPage.bytes.span.extracting(Page.headBytes..<valueEnd), of: tree)
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

    /// Returns the row's checksum, or nil for the row of the sums, which does not count itself.
    private mutating func checkRow(
        in node: PageNode, stored: Span<UInt8>, of tree: TreeKind
    ) throws(Damage) -> UInt32? {
        guard RowChecksum.isValid(key: node.key, stored: stored),
            let checksum = RowChecksum.storedChecksum(in: stored)
        else {
            throw Damage("page \(node.page.number): a row fails its checksum")
        }
        guard tree == .appliedProgress, TableSums.isKey(node.key) else { return checksum }
        guard let sums = TableSums.parse(stored.extracting(RowChecksum.byteCount..<stored.count)) else {
            throw Damage("the sums of its tables cannot be read")
        }
        storedSums = Dictionary(sums.map { ($0.name, $0.sum) }, uniquingKeysWith: { first, _ in first })
        return nil
    }

    /// Returns the pages of a value that is too long for its row's page, or nil for a value within it. LMDB
    /// calls them overflow pages.
    private mutating func overflowPage(of node: PageNode) throws(Damage) -> Page? {
        guard node.isOverflow else { return nil }
        let number = node.overflowPageNumber
        let firstPage = try pages.page(at: number)
        // The pages of the head and the value, rounded up.
        let neededPages = (Page.headBytes - 1 + node.valueBytes) / metaPage.pageBytes + 1
        // A value that became shorter keeps its pages.
        let hasValidCount =
            firstPage.overflowPages >= neededPages && firstPage.overflowPages <= pages.pageCount - number
        guard firstPage.number == number, firstPage.flags == .overflow, hasValidCount else {
            throw Damage("page \(number) is not the long value that belongs there")
        }
        try claimPages(from: number, count: firstPage.overflowPages)
        return try pages.page(at: number, pages: neededPages)
    }

    /// Checks a list of free pages. Its key is the transaction that freed them. The value is a count and the
    /// page numbers, the highest first.
    private mutating func checkFreePages(of node: PageNode, in page: Page, at start: Int) throws(Damage) {
        let numberBytes = 8
        let valueBytes = node.valueBytes
        guard valueBytes >= numberBytes, valueBytes % numberBytes == 0 else {
            throw Damage("the list of free pages has a wrong length")
        }
        let count = page.integer(at: start, size: numberBytes)
        guard (0..<valueBytes / numberBytes).contains(count) else {
            throw Damage("the list of free pages has a wrong length")
        }
        let transaction = node.page.integer(at: node.keyStart, size: numberBytes)
        guard (0...metaPage.lastTransaction).contains(transaction) else {
            throw Damage("the list of free pages has an unknown transaction")
        }
        var previous = Int.max
        for index in 0..<count {
            let number = page.integer(at: start + numberBytes * (1 + index), size: numberBytes)
            guard number < previous else { throw Damage("the list of free pages is out of order") }
            previous = number
            try claimPages(from: number, count: 1)
        }
    }
}
