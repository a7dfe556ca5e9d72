internal import CLinux
internal import Glibc

/// Walks every tree of a closed file before LMDB maps it. LMDB has no checksums and follows what it
/// finds: a wrong page number ends the process, and a page that is free and in use loses rows later.
/// So: each page where it should be and used once, each node within its page, keys in order, counts
/// as announced. It reads the file once, which also warms the page cache.
///
/// It cannot see a changed byte within a key's or a value's bytes that keeps the order.
struct TreeCheck: ~Copyable {
    struct Damage: Error {
        let what: String
        init(_ what: String) { self.what = what }
    }

    /// What is wrong, nil when nothing is.
    static func damage(in path: String) throws(StoreError) -> String? {
        let descriptor = unsafe linux_open(path, O_RDONLY, 0)
        guard descriptor >= 0 else { throw systemError("read", path) }
        defer { close(descriptor) }
        do throws(Damage) {
            guard let size = FileSize.of(path) else { throw Damage("it is gone") }
            // LMDB writes its head first; a process can die before that.
            if size == 0 { return nil }
            let pages = PageReader(descriptor: descriptor, fileBytes: size)
            let head = try Head(pages)
            var check = TreeCheck(pages: pages.withPageBytes(head.pageBytes), head: head)
            try check.run()
            return nil
        } catch {
            return error.what
        }
    }

    private static let depthMax = 32
    /// Pages that one transaction may reserve at the end of the file and not write.
    private static let unwrittenPagesMax = 1 << 17

    private let pages: PageReader
    private let head: Head
    /// One bit for each page that a tree or the list of free pages has.
    private var taken: [UInt64]

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
        try walk(head.free, .free)
        try walk(head.main, .names)
    }

    private enum Tree { case free, names, rows }

    /// What a walk carries from leaf to leaf.
    private struct Progress {
        var entries = 0
        var last: [UInt8]?
        /// The branch key that the next leaf's first key must reach.
        var floor: [UInt8]?
    }

    private mutating func walk(_ root: Page.Root, _ tree: Tree) throws(Damage) {
        if root.page == Page.Root.none {
            guard root.entries == 0 else { throw Damage("a tree of \(root.entries) rows has no pages") }
            return
        }
        guard (1...Self.depthMax).contains(root.depth) else { throw Damage("a tree is \(root.depth) deep") }
        var progress = Progress()
        try visit(root.page, level: root.depth, tree, &progress)
        guard progress.entries == root.entries else {
            throw Damage("a tree has \(progress.entries) rows, \(root.entries) are announced")
        }
    }

    private mutating func visit(
        _ number: Int, level: Int, _ tree: Tree, _ progress: inout Progress
    ) throws(Damage) {
        try take(number, pages: 1)
        let page = try pages.page(number)
        guard page.number == number, page.kind == (level == 1 ? .leaf : .branch) else {
            throw Damage("page \(number) is not the page that belongs there")
        }
        guard let count = page.nodeCount, count > 0 else { throw Damage("page \(number) has no valid head") }
        for index in 0..<count {
            guard let node = page.node(index) else { throw Damage("page \(number) has a row outside of it") }
            if level > 1 {
                if index > 0 { progress.floor = try key(node, after: progress.last, tree, number) }
                try visit(node.child, level: level - 1, tree, &progress)
            } else {
                let key = try key(node, after: progress.last, tree, number)
                if let floor = progress.floor, Self.precedes(key, floor, tree) {
                    throw Damage("page \(number) has a key below its branch")
                }
                progress.floor = nil
                progress.last = key
                progress.entries += 1
                try checkValue(node, tree)
            }
        }
    }

    private func key(
        _ node: Node, after last: [UInt8]?, _ tree: Tree, _ number: Int
    ) throws(Damage) -> [UInt8] {
        let key = Array(node.page.bytes[node.keyStart..<node.valueStart])
        guard !key.isEmpty, key.count <= 511, tree != .free || key.count == 8 else {
            throw Damage("page \(number) has a key of \(key.count) bytes")
        }
        if let last, !Self.precedes(last, key, tree) { throw Damage("page \(number) has keys out of order") }
        return key
    }

    private mutating func checkValue(_ node: Node, _ tree: Tree) throws(Damage) {
        guard !node.hasUnknownFlags, node.isTable == (tree == .names) else {
            throw Damage("page \(node.page.number) has a row of an unknown kind")
        }
        if tree == .names {
            guard !node.isLong, node.valueBytes == Page.rootBytes else { throw Damage("a table has no root") }
            // They would say that keys sort in another way.
            guard node.page.integer(node.valueStart + 4, 2) == 0 else {
                throw Damage("a table is of another kind")
            }
            return try walk(node.page.root(node.valueStart), .rows)
        }
        var value: Page?
        if node.isLong {
            let first = try pages.page(node.longPage)
            let needed = (Page.headBytes - 1 + node.valueBytes) / head.pageBytes + 1
            // A value that became shorter keeps its pages.
            guard first.number == node.longPage, first.kind == .overflow, first.overflowPages >= needed,
                first.overflowPages <= pages.count - node.longPage
            else { throw Damage("page \(node.longPage) is not the long value that belongs there") }
            try take(node.longPage, pages: first.overflowPages)
            value = tree == .free ? try pages.page(node.longPage, pages: needed) : nil
        }
        if tree == .free {
            try checkFreePages(
                value ?? node.page, at: value == nil ? node.valueStart : Page.headBytes, node.valueBytes)
        }
    }

    /// A count, then as many page numbers.
    private mutating func checkFreePages(_ page: Page, at start: Int, _ bytes: Int) throws(Damage) {
        guard bytes >= 8, bytes % 8 == 0, (0..<bytes / 8).contains(page.integer(start, 8)) else {
            throw Damage("the list of free pages has a wrong length")
        }
        for index in 0..<page.integer(start, 8) {
            try take(page.integer(start + 8 + 8 * index, 8), pages: 1)
        }
    }

    private mutating func take(_ first: Int, pages count: Int) throws(Damage) {
        guard first >= 0, count > 0, first <= head.lastPage, head.lastPage - first >= count - 1 else {
            throw Damage("page \(first) is beyond the last")
        }
        for page in first..<first + count {
            guard taken[page / 64] & 1 << (page % 64) == 0 else { throw Damage("page \(page) is used twice") }
            taken[page / 64] |= 1 << (page % 64)
        }
    }

    private static func precedes(_ a: [UInt8], _ b: [UInt8], _ tree: Tree) -> Bool {
        // The list of free pages is keyed by little-endian numbers.
        if tree == .free { return a.reversed().lexicographicallyPrecedes(b.reversed()) }
        let order = unsafe memcmp(a, b, min(a.count, b.count))
        return order != 0 ? order < 0 : a.count < b.count
    }
}
