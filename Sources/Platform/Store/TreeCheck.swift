internal import CLinux
internal import Glibc

/// A check of every tree of a closed file before LMDB maps it.
///
/// LMDB has no checksums and follows every pointer. A wrong page number ends the process. A page that is both
/// free and in use loses rows later. A row behind a wrong key is not found. So the check verifies:
///
/// - of each page: its number, that it is used once, and that its rows leave no gap;
/// - of each tree: the order of its keys and the number of its rows;
/// - of each row: its checksum (`TreeCheck+Values.swift`);
/// - of the file: the set of tables, and the sum of each table.
///
/// It reads the file once, which also warms the page cache. A file that passes can be read, searched and
/// changed, and is the result of one committed transaction.
struct TreeCheck: ~Copyable {
    struct Damage: Error {
        let reason: String
        init(_ reason: String) { self.reason = reason }
    }

    /// Returns the damage, or nil for an intact file.
    ///
    /// - Parameter expectedTransaction: The number of the last transaction, if it is known.
    static func damage(
        in path: String, lastTransaction expectedTransaction: Int? = nil
    ) throws(StoreError) -> String? {
        let descriptor = unsafe linux_open(path, O_RDONLY, 0)
        guard descriptor >= 0 else { throw systemError(action: "read", path: path) }
        defer { close(descriptor) }
        do throws(Damage) {
            guard let size = FileSize.ofFile(at: path) else { throw Damage("the file is missing") }
            // LMDB writes the meta pages first. A process can die before that.
            if size == 0 { return nil }
            let pages = PageReader(descriptor: descriptor, fileBytes: size)
            let metaPage = try MetaPage(reader: pages)
            if let expectedTransaction, expectedTransaction != metaPage.lastTransaction {
                throw Damage(
                    "its last transaction is \(metaPage.lastTransaction) instead of \(expectedTransaction)")
            }
            var check = TreeCheck(pages: pages.withPageBytes(of: metaPage.pageBytes), metaPage: metaPage)
            try check.checkAll()
            return nil
        } catch {
            return error.reason
        }
    }

    /// Returns the number of the last transaction of a closed file.
    static func lastTransaction(in path: String) throws(StoreError) -> Int {
        let descriptor = unsafe linux_open(path, O_RDONLY, 0)
        guard descriptor >= 0 else { throw systemError(action: "read", path: path) }
        defer { close(descriptor) }
        do throws(Damage) {
            let pages = PageReader(descriptor: descriptor, fileBytes: FileSize.ofFile(at: path) ?? 0)
            return try MetaPage(reader: pages).lastTransaction
        } catch {
            throw .corrupt(path: path, damage: error.reason)
        }
    }

    private static let depthMax = 32
    private static let keyBytesRange = 1...511
    /// A key in the list of free pages is a transaction number.
    fileprivate static let transactionBytes = 8
    /// The pages that one transaction may reserve at the end of the file without writing them.
    private static let unwrittenPagesMax = 1 << 17

    let pages: PageReader
    let metaPage: MetaPage
    /// One bit for each page that belongs to a tree or to the list of free pages.
    private var claimedPages: [UInt64]
    /// The sums of the rows that the walk found, by table name.
    private var computedSums: [String: TableSum] = [:]
    /// The sums that the last transaction stored. Nil until the walk has found them.
    var storedSums: [String: TableSum]?

    private init(pages: PageReader, metaPage: MetaPage) {
        self.pages = pages
        self.metaPage = metaPage
        // The last page is not checked yet, so a wrong number must not reserve memory.
        let lastPage = min(max(metaPage.lastPage, 0), pages.pageCount + Self.unwrittenPagesMax)
        claimedPages = Array(repeating: 0, count: lastPage / UInt64.bitWidth + 1)
    }

    private mutating func checkAll() throws(Damage) {
        guard (1...pages.pageCount + Self.unwrittenPagesMax).contains(metaPage.lastPage) else {
            throw Damage("it has \(pages.pageCount) pages, and its last page is \(metaPage.lastPage)")
        }
        // The two meta pages.
        try claimPages(from: 0, count: 2)
        _ = try walk(from: metaPage.freeTree, tree: .freePages)
        _ = try walk(from: metaPage.mainTree, tree: .tableNames)
        // A process can die before the first transaction, which creates the tables.
        if metaPage.lastTransaction == 0, metaPage.mainTree.entryCount == 0 { return }
        guard computedSums == storedSums else {
            throw Damage("its tables do not have the rows that were committed")
        }
    }

    enum TreeKind {
        /// The list of free pages.
        case freePages
        /// The names and roots of the tables.
        case tableNames
        /// The applied offsets and the sums of the tables.
        case appliedProgress
        case tableRows
    }

    /// The state that a walk carries from leaf to leaf. An empty key means no key, because no real key is
    /// empty.
    private struct WalkProgress {
        var entries = 0
        var sum = TableSum()
        var lastKey: [UInt8] = []
        /// The branch key that is the lower bound of the next leaf's first key.
        var lowestKey: [UInt8] = []
    }

    /// Checks the tree of a table and notes its sum.
    mutating func walk(table name: String, root: Page.TreeRoot) throws(Damage) {
        computedSums[name] = try walk(
            from: root, tree: name == AppliedProgress.tableName ? .appliedProgress : .tableRows)
    }

    /// Checks a tree and returns the sum of its rows.
    private mutating func walk(from root: Page.TreeRoot, tree: TreeKind) throws(Damage) -> TableSum {
        if root.page == Page.TreeRoot.none {
            guard root.entryCount == 0 else { throw Damage("a tree of \(root.entryCount) rows has no pages") }
            return TableSum()
        }
        guard (1...Self.depthMax).contains(root.depth) else { throw Damage("a tree is \(root.depth) deep") }
        var progress = WalkProgress()
        try visit(page: root.page, level: root.depth, of: tree, progress: &progress)
        guard progress.entries == root.entryCount else {
            throw Damage("a tree has \(progress.entries) rows instead of \(root.entryCount)")
        }
        return progress.sum
    }

    /// Checks a page and the pages below it. Leaves have level 1.
    private mutating func visit(
        page number: Int, level: Int, of tree: TreeKind, progress: inout WalkProgress
    ) throws(Damage) {
        try claimPages(from: number, count: 1)
        let page = try pages.page(at: number)
        guard page.number == number, page.flags == (level == 1 ? .leaf : .branch) else {
            throw Damage("page \(number) is not the page that belongs there")
        }
        guard let count = page.nodeCount, count > 0 else { throw Damage("page \(number) has no valid head") }
        var nodeBytes = 0
        for index in 0..<count {
            guard let node = page.node(at: index) else {
                throw Damage("page \(number) has a row outside of it")
            }
            nodeBytes += node.size
            if level > 1 {
                // The first branch has no key, because it has no lower bound.
                if index > 0 {
                    try checkKey(of: node, after: progress.lastKey, in: tree)
                    progress.lowestKey.replace(with: node.key)
                }
                try visit(page: node.childPageNumber, level: level - 1, of: tree, progress: &progress)
            } else {
                try checkLeafNode(node, of: tree, progress: &progress)
            }
        }
        // LMDB writes the next row where the head says that the other rows end.
        guard nodeBytes == page.nodeBytes else { throw Damage("page \(number) has gaps between its rows") }
    }

    /// Checks the key and the value of a leaf's node.
    private mutating func checkLeafNode(
        _ node: PageNode, of tree: TreeKind, progress: inout WalkProgress
    ) throws(Damage) {
        try checkKey(of: node, after: progress.lastKey, in: tree)
        guard !tree.precedes(node.key, progress.lowestKey.span) else {
            throw Damage("page \(node.page.number) has a key below its branch")
        }
        progress.lowestKey.removeAll(keepingCapacity: true)
        progress.lastKey.replace(with: node.key)
        progress.entries += 1
        if let checksum = try checkValue(of: node, in: tree) { progress.sum.add(rowChecksum: checksum) }
    }

    private func checkKey(of node: PageNode, after lastKey: [UInt8], in tree: TreeKind) throws(Damage) {
        guard Self.keyBytesRange.contains(node.keyBytes),
            tree != .freePages || node.keyBytes == Self.transactionBytes
        else {
            throw Damage("page \(node.page.number) has a key of \(node.keyBytes) bytes")
        }
        guard lastKey.isEmpty || tree.precedes(lastKey.span, node.key) else {
            throw Damage("page \(node.page.number) has keys out of order")
        }
    }

    /// Notes that the pages are used. Each page may be used once.
    mutating func claimPages(from first: Int, count: Int) throws(Damage) {
        let isWithinFile = first >= 0 && first <= metaPage.lastPage && metaPage.lastPage - first >= count - 1
        guard count > 0, isWithinFile else { throw Damage("page \(first) is beyond the last") }
        for page in first..<first + count {
            let word = page / UInt64.bitWidth
            let bit: UInt64 = 1 << (page % UInt64.bitWidth)
            guard claimedPages[word] & bit == 0 else { throw Damage("page \(page) is used twice") }
            claimedPages[word] |= bit
        }
    }
}

extension TreeCheck.TreeKind {
    /// Returns whether the first key comes before the second one in the order of this tree.
    func precedes(_ a: Span<UInt8>, _ b: Span<UInt8>) -> Bool {
        // The list of free pages has little-endian numbers as keys.
        let byteCount = TreeCheck.transactionBytes
        if self == .freePages, a.count == byteCount, b.count == byteCount {
            for index in (0..<byteCount).reversed() where a[index] != b[index] { return a[index] < b[index] }
            return false
        }
        return a.compare(to: b) < 0
    }
}

extension [UInt8] {
    /// Replaces the bytes and keeps the memory, because a walk does this for each row.
    fileprivate mutating func replace(with bytes: Span<UInt8>) {
        removeAll(keepingCapacity: true)
        unsafe bytes.withUnsafeBufferPointer { unsafe append(contentsOf: $0) }
    }
}
