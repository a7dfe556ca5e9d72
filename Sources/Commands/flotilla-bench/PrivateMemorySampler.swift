internal import Glibc
internal import Synchronization

/// The peak of a process's private memory, sampled every few milliseconds. It counts resident anonymous
/// pages, `RssAnon`: the same as the anonymous pages of `smaps_rollup`, without its walk through all pages.
/// Pages of a mapped file are the kernel's cache and are not counted, although `smaps_rollup` calls them
/// private while no other process maps the file.
final class PrivateMemorySampler: Sendable {
    private let peakKibibytes = Atomic(0)
    private let isStopped = Atomic(false)
    private let path: String

    /// - Parameter process: the process id; nil means this process.
    init(of process: Int32? = nil) {
        path = "/proc/\(process.map(String.init) ?? "self")/status"
        Task.detached { [self] in
            while !isStopped.load(ordering: .relaxed) {
                sample()
                try? await Task.sleep(for: .milliseconds(20))
            }
        }
    }

    /// The peak so far, in MiB.
    var peakMiB: Int {
        sample()
        return peakKibibytes.load(ordering: .relaxed) >> 10
    }

    func stop() -> Int {
        isStopped.store(true, ordering: .relaxed)
        return peakMiB
    }

    private func sample() {
        guard let file = unsafe fopen(path, "re") else { return }
        defer { unsafe fclose(file) }
        var text = [UInt8](repeating: 0, count: 4096)
        let count = unsafe fread(&text, 1, text.count, file)
        for line in text[..<count].split(separator: 0x0A) where line.starts(with: "RssAnon:".utf8) {
            let digits = line.filter { (0x30...0x39).contains($0) }
            peakKibibytes.max(Int(String(decoding: digits, as: UTF8.self)) ?? 0, ordering: .relaxed)
        }
    }
}

/// The directory of one benchmark. It is removed at the end unless `keep` was called.
final class BenchmarkDirectory {
    let path: String
    private var isKept = false

    init() throws {
        var template = Array("/tmp/flotilla-bench-XXXXXX".utf8CString)
        guard unsafe mkdtemp(&template) != nil else {
            throw BenchmarkFailure("cannot create a directory in /tmp")
        }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit { if !isKept { Self.removeTree(at: path) } }

    func keep() {
        isKept = true
        print("the files are kept in \(path)")
    }

    private static func removeTree(at path: String) {
        if let directory = unsafe opendir(path) {
            while let entry = unsafe readdir(directory) {
                let name = unsafe withUnsafeBytes(of: entry.pointee.d_name) { bytes in
                    unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
                }
                if name != ".", name != ".." { removeTree(at: path + "/" + name) }
            }
            unsafe closedir(directory)
        }
        unsafe Glibc.remove(path)
    }
}
