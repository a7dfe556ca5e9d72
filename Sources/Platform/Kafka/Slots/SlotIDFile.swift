internal import CLinux
internal import Glibc

/// The file in a slot that holds its id. The caller must hold the slot's lock.
struct SlotIDFile {
    static let digitCount = 32

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

    private func read() throws(SlotError) -> String? {
        let descriptor = unsafe linux_open(path, O_RDONLY, 0)
        guard descriptor >= 0 else {
            if errno == ENOENT { return nil }
            throw .systemCallFailed("open", path, errno)
        }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: Self.digitCount + 1)
        let count = unsafe Glibc.read(descriptor, &bytes, bytes.count)
        if count < 0 { throw .systemCallFailed("read", path, errno) }
        let isWhole =
            count == Self.digitCount + 1 && bytes.last == 0x0A
            && bytes.dropLast().allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
        return isWhole ? String(decoding: bytes.dropLast(), as: UTF8.self) : nil
    }

    /// Syncs the id to the disk before anything uses it. Otherwise a power cut could give the process another
    /// id while the transaction of the old id is still open.
    private func write(_ id: String) throws(SlotError) {
        let draft = path + ".new"
        let descriptor = unsafe linux_open(draft, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        guard descriptor >= 0 else { throw .systemCallFailed("make", draft, errno) }
        defer { close(descriptor) }
        let bytes = Array((id + "\n").utf8)
        let written = unsafe Glibc.write(descriptor, bytes, bytes.count)
        if written != bytes.count { throw .systemCallFailed("write", draft, written < 0 ? errno : ENOSPC) }
        if fsync(descriptor) != 0 { throw .systemCallFailed("sync", draft, errno) }
        if unsafe rename(draft, path) != 0 { throw .systemCallFailed("rename", draft, errno) }
        let parent = unsafe linux_open(directory, O_RDONLY | O_DIRECTORY, 0)
        guard parent >= 0 else { throw .systemCallFailed("open", directory, errno) }
        defer { close(parent) }
        if fsync(parent) != 0 { throw .systemCallFailed("sync", directory, errno) }
    }

    private static func hexadecimal(_ bytes: [UInt8]) -> String {
        let digits = Array("0123456789abcdef".utf8)
        return String(
            decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
}
