internal import CLinux
internal import Glibc

/// A check of every tree of a closed file before LMDB maps it. LMDB has no checksums and follows every
/// pointer. A wrong page number ends the process. A page that is both free and in use loses rows later. A row
/// behind a wrong key is not found. So the check verifies the place and single use of each page, and its
/// fill. It verifies the order of keys, the counts and the set of tables. It verifies the checksum of each
/// row and the sum of each table. It reads the file once, which also warms the page cache.
///
/// A file that passes can be read, searched and changed, and is the result of one committed transaction.
struct TreeCheck: ~Copyable {
    struct Damage: Error {
        let reason: String
        init(_ what: String) { self.reason = what }
    }

    /// Returns the damage, or nil for an intact file.
    ///
    /// - Parameter last: The number of the last transaction, if it is known.
    static func damage(in path: String, lastTransaction last: Int? = nil) throws(StoreError) -> String? {
        let descriptor = unsafe linux_open(path, O_RDONLY, 0)
        guard descriptor >= 0 else { throw systemError(action: "read", path: path) }
        defer { close(descriptor) }
        do throws(Damage) {
            guard let size = FileSize.ofFile(at: path) else { throw Damage("the file is missing") }
            // LMDB writes its head first. A process can die before that.
            if size == 0 { return nil }
            let pages = PageReader(descriptor: descriptor, fileBytes: size)
            let head = try MetaPage(reader: pages)
            if let last, last != head.lastTransaction {
                throw Damage("its last transaction is \(head.lastTransaction) instead of \(last)")
            }
            var check = TreeCheck(pages: pages.withPageBytes(of: head.pageBytes), metaPage: head)
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
            throw .corrupt(path: path, what: error.reason)
        }
    }

    private static let depthMax = 32
    /// The pages that one transaction may reserve at the end of the file without writing them.
    private static let unwrittenPagesMax = 1 << 17

    let pages: PageReader
    let metaPage: MetaPage
    /// One bit for each page that belongs to a tree or to the list of free pages.
    private var claimedPages: [UInt64]
    /// The sums that the walk found, and the sums that the last transaction announced.
    private var computedSums: [String: TableSum] = [:]
    var storedSums: [String: TableSum]?

    private init(pages: PageReader, metaPage: MetaPage) {
        self.pages = pages
        self.metaPage = metaPage
        claimedPages = Array(
            repeating: 0, count: min(max(metaPage.lastPage, 0), pages.count + Self.unwrittenPagesMax) / 64 + 1
        )
    }

    private mutating func checkAll() throws(Damage) {
        guard (1...pages.count + Self.unwrittenPagesMax).contains(metaPage.lastPage) else {
            throw Damage("it has \(pages.count) pages, and its last page is \(metaPage.lastPage)")
        }
        try claimPages(from: 0, count: 2)
        _ = try walk(from: metaPage.freeTree, tree: .free)
        _ = try walk(from: metaPage.mainTree, tree: .tableNames)
        // A process can die before the first transaction, which creates the tables.
        if metaPage.lastTransaction == 0, metaPage.mainTree.entryCount == 0 { return }
        guard computedSums == storedSums else {
            throw Damage("its tables do not have the rows that were committed")
        }
    }

    enum TreeKind {
        /// The list of free pages.
        case free
        /// The names and roots of the tables.
        case tableNames
        case applied
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

    mutating func walk(table name: String, root: Page.TreeRoot) throws(Damage) {
        computedSums[name] = try walk(
            from: root, tree: name == AppliedProgress.tableName ? .applied : .tableRows)
    }

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

    private mutating func visit(
        page number: Int, level: Int, of tree: TreeKind, progress: inout WalkProgress
    ) throws(Damage) {
        try claimPages(from: number, count: 1)
        let page = try pages.page(at: number)
        guard page.number == number, page.flags == (level == 1 ? .leaf : .branch) else {
            throw Damage("page \(number) is not the page that belongs there")
        }
        guard let count = page.nodeCount, count > 0 else { throw Damage("page \(number) has no valid head") }
        var filled = 0
        for index in 0..<count {
            guard let node = page.node(at: index) else {
                throw Damage("page \(number) has a row outside of it")
            }
            filled += node.size
            if level > 1 {
                if index > 0 {
                    try checkKey(of: node, after: progress.lastKey, in: tree)
                    progress.lowestKey.replace(with: node.key)
                }
                try visit(page: node.child, level: level - 1, of: tree, progress: &progress)
            } else {
                try checkKey(of: node, after: progress.lastKey, in: tree)
                guard !tree.precedes(node.key, progress.lowestKey.span) else {
                    throw Damage("page \(number) has a key below its branch")
                }
                progress.lowestKey.removeAll(keepingCapacity: true)
                progress.lastKey.replace(with: node.key)
                progress.entries += 1
                if let row = try checkValue(of: node, in: tree) { progress.sum.add(rowChecksum: row) }
            }
        }
        // LMDB writes the next row where the head says that the other rows end.
        guard filled == page.nodeBytes else { throw Damage("page \(number) has gaps between its rows") }
    }

    private func checkKey(of node: PageNode, after last: [UInt8], in tree: TreeKind) throws(Damage) {
        guard (1...511).contains(node.keyBytes), tree != .free || node.keyBytes == 8 else {
            throw Damage("page \(node.page.number) has a key of \(node.keyBytes) bytes")
        }
        guard last.isEmpty || tree.precedes(last.span, node.key) else {
            throw Damage("page \(node.page.number) has keys out of order")
        }
    }

    mutating func claimPages(from first: Int, count: Int) throws(Damage) {
        guard first >= 0, count > 0, first <= metaPage.lastPage, metaPage.lastPage - first >= count - 1 else {
            throw Damage("page \(first) is beyond the last")
        }
        for page in first..<first + count {
            guard claimedPages[page / 64] & 1 << (page % 64) == 0 else {
                throw Damage("page \(page) is used twice")
            }
            claimedPages[page / 64] |= 1 << (page % 64)
        }
    }
}

extension TreeCheck.TreeKind {
    func precedes(_ a: Span<UInt8>, _ b: Span<UInt8>) -> Bool {
        // The list of free pages has little-endian numbers as keys.
        if self == .free, a.count == 8, b.count == 8 {
            for index in (0..<8).reversed() where a[index] != b[index] { return a[index] < b[index] }
            return false
        }
        let order = unsafe a.withUnsafeBytes { a in
            unsafe b.withUnsafeBytes { b in
                let shorter = min(a.count, b.count)
                return unsafe shorter == 0 ? 0 : memcmp(a.baseAddress!, b.baseAddress!, shorter)
            }
        }
        return order != 0 ? order < 0 : a.count < b.count
    }
}

extension [UInt8] {
    /// Replaces the bytes and keeps the memory, because a walk does this for each row.
    fileprivate mutating func replace(with bytes: Span<UInt8>) {
        removeAll(keepingCapacity: true)
        unsafe bytes.withUnsafeBufferPointer { unsafe append(contentsOf: $0) }
    }
}
