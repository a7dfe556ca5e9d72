internal import CLinux
internal import Glibc

extension Disk {
    package func makeDirectory(_ path: String) throws(DiskError) {
        _ = try step(.makeDirectory, path)
        guard unsafe mkdir(path, 0o755) == 0 || errno == EEXIST else {
            throw DiskError(.makeDirectory, path: path, code: errno)
        }
    }

    /// The names in a directory, sorted, without the two dots.
    package func names(in path: String) throws(DiskError) -> [String] {
        _ = try step(.list, path)
        guard let directory = unsafe opendir(path) else { throw DiskError(.list, path: path, code: errno) }
        defer { unsafe closedir(directory) }
        var names: [String] = []
        while let entry = unsafe readdir(directory) {
            let name = unsafe withUnsafeBytes(of: &entry.pointee.d_name) { raw in
                unsafe String(decoding: raw.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name != "." && name != ".." { names.append(name) }
        }
        return names.sorted()
    }

    package func exists(_ path: String) -> Bool { unsafe access(path, F_OK) == 0 }

    /// Removes a directory of plain files.
    package func removeDirectory(_ path: String) throws(DiskError) {
        for name in try names(in: path) { try remove(path + "/" + name) }
        _ = try step(.remove, path)
        guard unsafe rmdir(path) == 0 || errno == ENOENT else {
            throw DiskError(.remove, path: path, code: errno)
        }
    }

    /// The whole file, or nil if there is none. For small files of our own.
    package func contents(of path: String) throws(DiskError) -> [UInt8]? {
        guard exists(path) else { return nil }
        let file = try open(path, writable: false)
        let size = try size(file)
        var bytes = [UInt8](repeating: 0, count: size)
        let count = try unsafe bytes.withMutableBytes { (raw) throws(DiskError) in
            try unsafe read(file, at: 0, into: raw)
        }
        bytes.removeLast(size - count)
        return bytes
    }

    /// Replaces a file so that after a crash either the old bytes or the new ones are there.
    package func replace(_ path: String, with bytes: [UInt8], durable: Bool = true) throws(DiskError) {
        let temporary = path + ".tmp"
        try remove(temporary)
        let file = try open(temporary, create: true, writable: true)
        try write(bytes, to: file, at: 0)
        if durable { try sync(file) }
        try rename(temporary, to: path)
        if durable {
            try syncDirectory(String(path.prefix(upTo: path.lastIndex(of: "/") ?? path.startIndex)))
        }
    }
}
