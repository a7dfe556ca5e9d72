internal import Glibc

/// A reader of pages by number, in a file that no process has open. It never reads beyond the end.
struct PageReader {
    let descriptor: Int32
    let fileBytes: Int
    private(set) var pageBytes = 4096

    init(descriptor: Int32, fileBytes: Int) {
        self.descriptor = descriptor
        self.fileBytes = fileBytes
    }

    func withPageBytes(of bytes: Int) -> PageReader {
        var other = self
        other.pageBytes = bytes
        return other
    }

    /// The number of complete pages in the file.
    var count: Int { fileBytes / pageBytes }

    func page(at number: Int, pages: Int = 1) throws(TreeCheck.Damage) -> Page {
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
