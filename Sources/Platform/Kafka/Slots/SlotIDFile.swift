internal import CLinux
internal import Glibc

/// The file `id` in a slot: 32 hexadecimal digits and a newline. The caller must hold the slot's lock.
struct SlotIDFile {
    static let digitCount = 32
    private static let byteCount = digitCount + 1

    private let directory: String
    private var path: String { directory + "/id" }

    init(directory: String) { self.directory = directory }

    /// Reads the id, or makes a new one if the file is missing or a lost disk write left it incomplete. With
    /// a new id the group sees a new member, which costs one session timeout and nothing else.
    func readOrMakeID(randomByte: () -> UInt8) throws(SlotError) -> String {
        if let id = try read() { return id }
        let id = Self.hexadecimal((0..<Self.digitCount / 2).map { _ in randomByte() })
        try write(id)
        return id
    }

    /// Returns nil if the file is missing or incomplete.
    private func read() throws(SlotError) -> String? {
        let descriptor = unsafe linux_open(path, O_RDONLY, 0)
        guard descriptor >= 0 else {
            if errno == ENOENT { return nil }
            throw .systemCallFailed(verb: "open", path: path, code: errno)
        }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: Self.byteCount)
        let readCount = unsafe Glibc.read(descriptor, &bytes, bytes.count)
        if readCount < 0 { throw .systemCallFailed(verb: "read", path: path, code: errno) }
        let digits = bytes.dropLast()
        let isComplete =
            readCount == Self.byteCount && bytes.last == UInt8(ascii: "\n")
            && digits.allSatisfy(Self.isHexadecimalDigit)
        return isComplete ? String(decoding: digits, as: UTF8.self) : nil
    }

    private static func isHexadecimalDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"): true
        default: false
        }
    }

    /// Writes the id and syncs it to the disk before anything uses it. Otherwise a power cut could give the
    /// process another id while the transaction of the old id is still open.
    private func write(_ id: String) throws(SlotError) {
        let newPath = path + ".new"
        let descriptor = unsafe linux_open(newPath, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        guard descriptor >= 0 else { throw .systemCallFailed(verb: "make", path: newPath, code: errno) }
        defer { close(descriptor) }
        let bytes = Array((id + "\n").utf8)
        let written = unsafe Glibc.write(descriptor, bytes, bytes.count)
        if written != bytes.count {
            throw .systemCallFailed(verb: "write", path: newPath, code: written < 0 ? errno : ENOSPC)
        }
        if fsync(descriptor) != 0 { throw .systemCallFailed(verb: "sync", path: newPath, code: errno) }
        if unsafe rename(newPath, path) != 0 {
            throw .systemCallFailed(verb: "rename", path: newPath, code: errno)
        }
        let parent = unsafe linux_open(directory, O_RDONLY | O_DIRECTORY, 0)
        guard parent >= 0 else { throw .systemCallFailed(verb: "open", path: directory, code: errno) }
        defer { close(parent) }
        if fsync(parent) != 0 { throw .systemCallFailed(verb: "sync", path: directory, code: errno) }
    }

    private static func hexadecimal(_ bytes: [UInt8]) -> String {
        let digits = Array("0123456789abcdef".utf8)
        return String(
            decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
}
