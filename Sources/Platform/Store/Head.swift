/// The newer of the file's two head pages, chosen as LMDB chooses it. It contains the roots of the trees.
/// Each transaction overwrites the older head. So the transaction numbers are consecutive, and the first head
/// has the even one. With other numbers, the next transaction could overwrite the wrong head.
struct Head {
    let pageBytes: Int
    let free: Page.Root
    let main: Page.Root
    let lastPage: Int
    /// The last committed transaction.
    let transaction: Int

    private static let magic = 0xBEEF_C0DE
    private static let format = 1
    /// LMDB's flags for the order of keys. Only the list of free pages is ordered by number.
    private static let orders = 0x7F
    private static let byNumber = 0x08

    init(_ reader: PageReader) throws(TreeCheck.Damage) {
        let first = try reader.page(0)
        let size = first.integer(40, 4)
        guard (512...65536).contains(size), size & (size - 1) == 0 else {
            throw TreeCheck.Damage("its head has no valid page size")
        }
        let pages = reader.withPageBytes(size)
        let heads = [try pages.page(0), try pages.page(1)]
        for (number, head) in heads.enumerated() {
            guard head.number == number, head.kind == .meta, head.integer(16, 4) == Self.magic,
                head.integer(20, 4) == Self.format, head.integer(40, 4) == size
            else { throw TreeCheck.Damage("head \(number) is not a head page") }
        }
        let numbers = heads.map { $0.integer(144, 8) }
        guard numbers.allSatisfy({ $0 >= 0 }), numbers[0] % 2 == 0,
            numbers == [0, 0] || abs(numbers[0] - numbers[1]) == 1
        else {
            throw TreeCheck.Damage("its heads have the transactions \(numbers[0]) and \(numbers[1])")
        }
        let newer = numbers[0] < numbers[1] ? heads[1] : heads[0]
        pageBytes = size
        free = newer.root(40)
        main = newer.root(88)
        lastPage = newer.integer(136, 8)
        transaction = max(numbers[0], numbers[1])
        guard free.flags & Self.orders == Self.byNumber, main.flags == 0 else {
            throw TreeCheck.Damage("its trees have unknown flags")
        }
    }
}
