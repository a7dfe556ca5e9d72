/// The newer of the file's two head pages, chosen as LMDB chooses it. It contains the roots of the trees.
/// Each transaction overwrites the older head. So the transaction numbers are consecutive, and the first head
/// has the even one. With other numbers, the next transaction could overwrite the wrong head.
struct MetaPage {
    let pageBytes: Int
    let freeTree: Page.TreeRoot
    let mainTree: Page.TreeRoot
    let lastPage: Int
    /// The last committed transaction.
    let lastTransaction: Int

    private static let magic = 0xBEEF_C0DE
    private static let format = 1
    /// LMDB's flags for the order of keys. Only the list of free pages is ordered by number.
    private static let orders = 0x7F
    private static let byNumber = 0x08

    init(reader: PageReader) throws(TreeCheck.Damage) {
        let first = try reader.page(at: 0)
        let size = first.integer(at: 40, size: 4)
        guard (512...65536).contains(size), size & (size - 1) == 0 else {
            throw TreeCheck.Damage("its head has no valid page size")
        }
        let pages = reader.withPageBytes(of: size)
        let heads = [try pages.page(at: 0), try pages.page(at: 1)]
        for (number, head) in heads.enumerated() {
            guard head.number == number, head.flags == .meta, head.integer(at: 16, size: 4) == Self.magic,
                head.integer(at: 20, size: 4) == Self.format, head.integer(at: 40, size: 4) == size
            else { throw TreeCheck.Damage("head \(number) is not a head page") }
        }
        let numbers = heads.map { $0.integer(at: 144, size: 8) }
        guard numbers.allSatisfy({ $0 >= 0 }), numbers[0] % 2 == 0,
            numbers == [0, 0] || abs(numbers[0] - numbers[1]) == 1
        else {
            throw TreeCheck.Damage("its heads have the transactions \(numbers[0]) and \(numbers[1])")
        }
        let newer = numbers[0] < numbers[1] ? heads[1] : heads[0]
        pageBytes = size
        freeTree = newer.root(at: 40)
        mainTree = newer.root(at: 88)
        lastPage = newer.integer(at: 136, size: 8)
        lastTransaction = max(numbers[0], numbers[1])
        guard freeTree.flags & Self.orders == Self.byNumber, mainTree.flags == 0 else {
            throw TreeCheck.Damage("its trees have unknown flags")
        }
    }
}
