internal import CLinux
internal import Glibc

/// Walks every tree of a closed file before LMDB maps it. LMDB has no checksums and follows what it
/// finds: a wrong page number ends the process, a page that is free and in use loses rows later, and a
/// row behind a wrong key is not found. So: each page where it should be, used once and filled as LMDB
/// fills it, keys in order, counts as announced, the tables that were made and no other, each row as its
/// sum says, and all of a table's rows as theirs does. It reads the file once, which also warms the page
/// cache.
///
/// What it lets pass can be read, searched and changed, and is what one transaction committed.
struct TreeCheck: ~Copyable {
    struct Damage: Error {
        let what: String
        init(_ what: String) { self.what = what }
    }

    /// What is wrong, nil when nothing is.
    ///
    /// - Parameter last: the number of the last transaction, where it is known.
    static func damage(in path: String, of last: Int? = nil) throws(StoreError) -> String? {
        let descriptor = unsafe linux_open(path, O_RDONLY, 0)
        guard descriptor >= 0 else { throw systemError("read", path) }
        defer { close(descriptor) }
        do throws(Damage) {
            guard let size = FileSize.of(path) else { throw Damage("it is gone") }
            // LMDB writes its head first; a process can die before that.
            if size == 0 { return nil }
            let pages = PageReader(descriptor: descriptor, fileBytes: size)
            let head = try Head(pages)
            if let last, last != head.transaction {
                throw Damage("its last transaction is \(head.transaction), \(last) was written")
            }
            var check = TreeCheck(pages: pages.withPageBytes(head.pageBytes), head: head)
            try check.run()
            return nil
        } catch {
            return error.what
        }
    }

    /// The number of the transaction that a closed file is of.
    static func lastTransaction(in path: String) throws(StoreError) -> Int {
        let descriptor = unsafe linux_open(path, O_RDONLY, 0)
        guard descriptor >= 0 else { throw systemError("read", path) }
        defer { close(descriptor) }
        do throws(Damage) {
            let pages = PageReader(descriptor: descriptor, fileBytes: FileSize.of(path) ?? 0)
            return try Head(pages).transaction
        } catch {
            throw .corrupt(path: path, what: error.what)
        }
    }

    private static let depthMax = 32
    /// Pages that one transaction may reserve at the end of the file and not write.
    private static let unwrittenPagesMax = 1 << 17

    let pages: PageReader
    let head: Head
    /// One bit for each page that a tree or the list of free pages has.
    private var taken: [UInt64]
    /// What the walk has found in each table, and what the last transaction says that it has.
    private var found: [String: TableSum] = [:]
    var announced: [String: TableSum]?

    private init(pages: PageReader, head: Head) {
        self.pages = pages
        self.head = head
        taken = Array(
            repeating: 0, count: min(max(head.lastPage, 0), pages.count + Self.unwrittenPagesMax) / 64 + 1)
    }

    private mutating func run() throws(Damage) {
        guard (1...pages.count + Self.unwrittenPagesMax).contains(head.lastPage) else {
            throw Damage("it has \(pages.count) pages and speaks of \(head.lastPage)")
        }
        try take(0, pages: 2)
        _ = try walk(head.free, .free)
        _ = try walk(head.main, .names)
        // A process can die before the first transaction, which makes the tables.
        if head.transaction == 0, head.main.entries == 0 { return }
        guard found == announced else { throw Damage("its tables do not have the rows that were committed") }
    }

    enum Tree {
        /// The list of free pages.
        case free
        /// The names of the tables and where they begin.
        case names
        case applied
        case rows
    }

    /// What a walk carries from leaf to leaf. No key is empty: that stands for none.
    private struct Progress {
        var entries = 0
        var sum = TableSum()
        var last: [UInt8] = []
        /// The branch key that the next leaf's first key must reach.
        var floor: [UInt8] = []
    }

    mutating func walk(table name: String, _ root: Page.Root) throws(Damage) {
        found[name] = try walk(root, name == Applied.tableName ? .applied : .rows)
    }

    private mutating func walk(_ root: Page.Root, _ tree: Tree) throws(Damage) -> TableSum {
        if root.page == Page.Root.none {
            guard root.entries == 0 else { throw Damage("a tree of \(root.entries) rows has no pages") }
            return TableSum()
        }
        guard (1...Self.depthMax).contains(root.depth) else { throw Damage("a tree is \(root.depth) deep") }
        var progress = Progress()
        try visit(root.page, level: root.depth, of: tree, progress: &progress)
        guard progress.entries == root.entries else {
            throw Damage("a tree has \(progress.entries) rows, \(root.entries) are announced")
        }
        return progress.sum
    }

    private mutating func visit(
        _ number: Int, level: Int, of tree: Tree, progress: inout Progress
    ) throws(Damage) {
        try take(number, pages: 1)
        let page = try pages.page(number)
        guard page.number == number, page.kind == (level == 1 ? .leaf : .branch) else {
            throw Damage("page \(number) is not the page that belongs there")
        }
        guard let count = page.nodeCount, count > 0 else { throw Damage("page \(number) has no valid head") }
        var filled = 0
        for index in 0..<count {
            guard let node = page.node(index) else { throw Damage("page \(number) has a row outside of it") }
            filled += node.size
            if level > 1 {
                if index > 0 {
                    try checkKey(node, after: progress.last, tree)
                    progress.floor.replace(with: node.key)
                }
                try visit(node.child, level: level - 1, of: tree, progress: &progress)
            } else {
                try checkKey(node, after: progress.last, tree)
                guard !tree.precedes(node.key, progress.floor.span) else {
                    throw Damage("page \(number) has a key below its branch")
                }
                progress.floor.removeAll(keepingCapacity: true)
                progress.last.replace(with: node.key)
                progress.entries += 1
                if let row = try checkValue(node, tree) { progress.sum.add(row) }
            }
        }
        // LMDB puts the next row where the head says that the others end.
        guard filled == page.nodeBytes else { throw Damage("page \(number) has gaps between its rows") }
    }

    private func checkKey(_ node: Node, after last: [UInt8], _ tree: Tree) throws(Damage) {
        guard (1...511).contains(node.keyBytes), tree != .free || node.keyBytes == 8 else {
            throw Damage("page \(node.page.number) has a key of \(node.keyBytes) bytes")
        }
        guard last.isEmpty || tree.precedes(last.span, node.key) else {
            throw Damage("page \(node.page.number) has keys out of order")
        }
    }

    mutating func take(_ first: Int, pages count: Int) throws(Damage) {
        guard first >= 0, count > 0, first <= head.lastPage, head.lastPage - first >= count - 1 else {
            throw Damage("page \(first) is beyond the last")
        }
        for page in first..<first + count {
            guard taken[page / 64] & 1 << (page % 64) == 0 else { throw Damage("page \(page) is used twice") }
            taken[page / 64] |= 1 << (page % 64)
        }
    }
}

extension TreeCheck.Tree {
    func precedes(_ a: Span<UInt8>, _ b: Span<UInt8>) -> Bool {
        // The list of free pages is keyed by little-endian numbers.
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
    /// Keeps the memory: a walk does this for each row.
    fileprivate mutating func replace(with bytes: Span<UInt8>) {
        removeAll(keepingCapacity: true)
        unsafe bytes.withUnsafeBufferPointer { unsafe append(contentsOf: $0) }
    }
}
