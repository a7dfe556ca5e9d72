internal import Glibc

/// A reader of pages by number, in an LMDB file that no process has open. It never reads beyond the end.
struct PageReader {
    let descriptor: Int32
    let fileBytes: Int
    /// The size of a page. Before the meta page is read, the usual size is enough to read it.
    private(set) var pageBytes = 4096

    init(descriptor: Int32, fileBytes: Int) {
        self.descriptor = descriptor
        self.fileBytes = fileBytes
    }

    /// Returns a reader of the same file with another page size.
    func withPageBytes(of pageBytes: Int) -> PageReader {
        var reader = self
        reader.pageBytes = pageBytes
        return reader
    }

    /// The number of complete pages in the file.
    var pageCount: Int { fileBytes / pageBytes }

    /// Reads a page, or several adjacent pages of a long value.
    func page(at number: Int, pages: Int = 1) throws(TreeCheck.Damage) -> Page {
        guard number >= 0, number < pageCount, pages > 0, pages <= pageCount - number else {
            throw TreeCheck.Damage("page \(number) is beyond the end of the file")
        }
        let byteCount = pages * pageBytes
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: byteCount) { buffer, initializedCount in
            initializedCount = unsafe max(
                0, pread(descriptor, buffer.baseAddress!, byteCount, number * pageBytes))
        }
        guard bytes.count == byteCount else { throw TreeCheck.Damage("page \(number) cannot be read") }
        return Page(bytes: bytes)
    }
}
