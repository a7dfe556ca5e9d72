internal import Glibc

/// Reads pages of a file that nobody has open, by number, and never beyond its end.
struct PageReader {
    let descriptor: Int32
    let fileBytes: Int
    private(set) var pageBytes = 4096

    init(descriptor: Int32, fileBytes: Int) {
        self.descriptor = descriptor
        self.fileBytes = fileBytes
    }

    func withPageBytes(_ bytes: Int) -> PageReader {
        var other = self
        other.pageBytes = bytes
        return other
    }

    /// Whole pages in the file.
    var count: Int { fileBytes / pageBytes }

    func page(_ number: Int, pages: Int = 1) throws(TreeCheck.Damage) -> Page {
        guard number >= 0, number < count, pages > 0, pages <= count - number else {
            throw TreeCheck.Damage("page \(number) is beyond the end of the file")
        }
        let size = pages * pageBytes
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: size) { buffer, filled in
            filled = unsafe max(0, pread(descriptor, buffer.baseAddress!, size, number * pageBytes))
        }
        guard bytes.count == size else { throw TreeCheck.Damage("page \(number) cannot be read") }
        return Page(bytes: bytes)
    }
}

/// The newer of the file's two heads: where the trees begin.
struct Head {
    let pageBytes: Int
    let free: Page.Root
    let main: Page.Root
    let lastPage: Int

    private static let magic = 0xBEEF_C0DE
    private static let format = 1

    init(_ reader: PageReader) throws(TreeCheck.Damage) {
        let first = try reader.page(0)
        let size = first.integer(40, 4)
        guard (512...65536).contains(size), size & (size - 1) == 0 else {
            throw TreeCheck.Damage("its head has no page size")
        }
        let pages = reader.withPageBytes(size)
        let heads = [try pages.page(0), try pages.page(1)]
        for (number, head) in heads.enumerated() {
            guard head.number == number, head.kind == .meta, head.integer(16, 4) == Self.magic,
                head.integer(20, 4) == Self.format, head.integer(40, 4) == size
            else { throw TreeCheck.Damage("head \(number) is not a head") }
        }
        let newer = heads[0].integer(144, 8) > heads[1].integer(144, 8) ? heads[0] : heads[1]
        pageBytes = size
        free = newer.root(40)
        main = newer.root(88)
        lastPage = newer.integer(136, 8)
    }
}
