/// The checks of values: a row with its checksum, the root of a table, or free pages.
extension TreeCheck {
    /// Returns the row's part of its table's sum.
    mutating func checkValue(_ node: Node, _ tree: Tree) throws(Damage) -> UInt32? {
        guard !node.hasUnknownFlags, node.isTable == (tree == .names) else {
            throw Damage("page \(node.page.number) has a row of an unknown kind")
        }
        switch tree {
        case .names: try checkTable(node)
        case .free:
            let long = try longValue(node)
            try checkFreePages(node, long ?? node.page, at: long == nil ? node.valueStart : Page.headBytes)
        case .applied, .rows:
            if let long = try longValue(node) {
                let end = Page.headBytes + node.valueBytes
                return try checkRow(
                    in: node, stored: long.bytes.span.extracting(Page.headBytes..<end), of: tree)
            }
            return try checkRow(
                in: node, stored: node.page.bytes.span.extracting(node.valueStart..<node.end), of: tree)
        }
        return nil
    }

    private mutating func checkTable(_ node: Node) throws(Damage) {
        guard !node.isLong, node.valueBytes == Page.rootBytes else { throw Damage("a table has no root") }
        let root = node.page.root(node.valueStart)
        // Flags would change the order of keys.
        guard root.flags == 0 else { throw Damage("a table has unknown flags") }
        try walk(table: TableSums.name(node.key), root)
    }

    private mutating func checkRow(
        in node: Node, stored: Span<UInt8>, of tree: Tree
    ) throws(Damage) -> UInt32? {
        guard RowCheck.holds(node.key, stored), let sum = RowCheck.sum(of: stored) else {
            throw Damage("page \(node.page.number): a row fails its checksum")
        }
        guard tree == .applied, TableSums.isKey(node.key) else { return sum }
        guard let sums = TableSums.read(stored.extracting(RowCheck.bytes..<stored.count)) else {
            throw Damage("the sums of its tables cannot be read")
        }
        announced = Dictionary(sums.map { ($0.name, $0.sum) }, uniquingKeysWith: { first, _ in first })
        return nil
    }

    /// Returns the pages of a value that is too long for its row's page, or nil.
    private mutating func longValue(_ node: Node) throws(Damage) -> Page? {
        guard node.isLong else { return nil }
        let first = try pages.page(node.longPage)
        let needed = (Page.headBytes - 1 + node.valueBytes) / head.pageBytes + 1
        // A value that became shorter keeps its pages.
        guard first.number == node.longPage, first.kind == .overflow, first.overflowPages >= needed,
            first.overflowPages <= pages.count - node.longPage
        else { throw Damage("page \(node.longPage) is not the long value that belongs there") }
        try take(node.longPage, pages: first.overflowPages)
        return try pages.page(node.longPage, pages: needed)
    }

    /// Checks a list of free pages. Its key is the transaction that freed them. The value is a count and the
    /// page numbers, the highest first.
    private mutating func checkFreePages(_ node: Node, _ page: Page, at start: Int) throws(Damage) {
        let bytes = node.valueBytes
        guard bytes >= 8, bytes % 8 == 0, (0..<bytes / 8).contains(page.integer(start, 8)) else {
            throw Damage("the list of free pages has a wrong length")
        }
        guard (0...head.transaction).contains(node.page.integer(node.keyStart, 8)) else {
            throw Damage("the list of free pages has an unknown transaction")
        }
        var last = Int.max
        for index in 0..<page.integer(start, 8) {
            let free = page.integer(start + 8 + 8 * index, 8)
            guard free < last else { throw Damage("the list of free pages is out of order") }
            last = free
            try take(free, pages: 1)
        }
    }
}
