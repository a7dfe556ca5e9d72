/// The newer of the file's two meta pages, chosen as LMDB chooses it. It contains the roots of the trees.
///
/// Each transaction overwrites the older meta page. So the transaction numbers are consecutive, and page 0
/// has the even one. With other numbers, the next transaction could overwrite the wrong page.
struct MetaPage {
    /// The size of a page.
    let pageBytes: Int
    /// The list of free pages.
    let freeTree: Page.TreeRoot
    /// The names and roots of the tables.
    let mainTree: Page.TreeRoot
    /// The number of the last page that was ever used.
    let lastPage: Int
    /// The number of the last committed transaction.
    let lastTransaction: Int

    private static let magic = 0xBEEF_C0DE
    private static let format = 1
    private static let pageBytesRange = 512...65536
    /// LMDB's flags for the order of keys. Only the list of free pages is ordered by number.
    private static let orderFlags = 0x7F
    private static let byNumberFlag = 0x08

    /// Positions in a meta page, with LMDB's names of the fields (`MDB_meta`).
    private enum Position {
        /// `mm_magic`
        static let magic = 16
        /// `mm_version`
        static let format = 20
        /// `mm_dbs[0]`, the list of free pages. Its first field is the page size.
        static let freeTree = 40
        static let pageBytes = 40
        /// `mm_dbs[1]`, the tables.
        static let mainTree = 88
        /// `mm_last_pg`
        static let lastPage = 136
        /// `mm_txnid`
        static let transaction = 144
    }

    init(reader: PageReader) throws(TreeCheck.Damage) {
        let pageBytes = try reader.page(at: 0).integer(at: Position.pageBytes, size: 4)
        let isPowerOfTwo = pageBytes & (pageBytes - 1) == 0
        guard Self.pageBytesRange.contains(pageBytes), isPowerOfTwo else {
            throw TreeCheck.Damage("its meta page has no valid page size")
        }
        let pages = reader.withPageBytes(of: pageBytes)
        let metaPages = [try pages.page(at: 0), try pages.page(at: 1)]
        for (number, page) in metaPages.enumerated() {
            guard page.number == number, page.flags == .meta,
                page.integer(at: Position.magic, size: 4) == Self.magic,
                page.integer(at: Position.format, size: 4) == Self.format,
                page.integer(at: Position.pageBytes, size: 4) == pageBytes
            else { throw TreeCheck.Damage("page \(number) is not a meta page") }
        }
        let newer = try Self.newerPage(of: metaPages)
        self.pageBytes = pageBytes
        freeTree = newer.root(at: Position.freeTree)
        mainTree = newer.root(at: Position.mainTree)
        lastPage = newer.integer(at: Position.lastPage, size: 8)
        lastTransaction = newer.integer(at: Position.transaction, size: 8)
        guard freeTree.flags & Self.orderFlags == Self.byNumberFlag, mainTree.flags == 0 else {
            throw TreeCheck.Damage("its trees have unknown flags")
        }
    }

    /// Returns the meta page of the last transaction.
    private static func newerPage(of metaPages: [Page]) throws(TreeCheck.Damage) -> Page {
        let first = metaPages[0].integer(at: Position.transaction, size: 8)
        let second = metaPages[1].integer(at: Position.transaction, size: 8)
        let isNewFile = first == 0 && second == 0
        guard first >= 0, second >= 0, first % 2 == 0, isNewFile || abs(first - second) == 1 else {
            throw TreeCheck.Damage("its meta pages have the transactions \(first) and \(second)")
        }
        return first < second ? metaPages[1] : metaPages[0]
    }
}
