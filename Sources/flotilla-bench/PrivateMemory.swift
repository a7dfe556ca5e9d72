internal import Glibc
internal import Synchronization

/// The most memory that is a process's alone, looked at every few milliseconds: the anonymous pages
/// that are resident, `RssAnon`: what `smaps_rollup` calls anonymous, without its walk through all pages.
/// Pages of a mapped file are the kernel's cache and not counted, though `smaps_rollup` calls them
/// private as long as nobody else has the file mapped.
final class PrivateMemory: Sendable {
    private let peak = Atomic(0)
    private let isStopped = Atomic(false)
    private let path: String

    /// - Parameter process: nil for this one.
    init(of process: Int32? = nil) {
        path = "/proc/\(process.map(String.init) ?? "self")/status"
        Task.detached { [self] in
            while !isStopped.load(ordering: .relaxed) {
                look()
                try? await Task.sleep(for: .milliseconds(20))
            }
        }
    }

    /// The most so far, in MiB.
    var most: Int {
        look()
        return peak.load(ordering: .relaxed) >> 10
    }

    func stop() -> Int {
        isStopped.store(true, ordering: .relaxed)
        return most
    }

    private func look() {
        guard let file = unsafe fopen(path, "re") else { return }
        defer { unsafe fclose(file) }
        var text = [UInt8](repeating: 0, count: 4096)
        let count = unsafe fread(&text, 1, text.count, file)
        for line in text[..<count].split(separator: 0x0A) where line.starts(with: "RssAnon:".utf8) {
            let digits = line.filter { (0x30...0x39).contains($0) }
            peak.max(Int(String(decoding: digits, as: UTF8.self)) ?? 0, ordering: .relaxed)
        }
    }
}

/// A directory of one benchmark, gone with it unless somebody is to look at what lies in it.
final class BenchmarkDirectory {
    let path: String
    private var isKept = false

    init() throws {
        var template = Array("/tmp/flotilla-bench-XXXXXX".utf8CString)
        guard unsafe mkdtemp(&template) != nil else {
            throw BenchmarkFailure("no directory can be made in /tmp")
        }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit { if !isKept { Self.remove(path) } }

    func keep() {
        isKept = true
        print("what was kept lies in \(path)")
    }

    private static func remove(_ path: String) {
        if let directory = unsafe opendir(path) {
            while let entry = unsafe readdir(directory) {
                let name = unsafe withUnsafeBytes(of: entry.pointee.d_name) { bytes in
                    unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
                }
                if name != ".", name != ".." { remove(path + "/" + name) }
            }
            unsafe closedir(directory)
        }
        unsafe Glibc.remove(path)
    }
}
