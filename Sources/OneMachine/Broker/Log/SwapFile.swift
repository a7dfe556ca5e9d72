/// A finished compacted segment that waits for its exchange. Its name contains its range of offsets, so
/// that a start can finish an exchange that a crash interrupted.
enum SwapFile {
    static func path(in directory: String, from base: Int64, to end: Int64) -> String {
        "\(directory)/\(base)-\(end).swap"
    }

    static func range(ofName name: String) -> Range<Int64>? {
        guard name.hasSuffix(".swap") else { return nil }
        let parts = name.dropLast(5).split(separator: "-")
        guard parts.count == 2, let base = Int64(parts[0]), let end = Int64(parts[1]), base < end else {
            return nil
        }
        return base..<end
    }

    /// Replaces the old segments by the file. May be repeated after a crash at any step. The old summary
    /// goes first, because it must not be used with the new file.
    static func exchange(
        path: String, directory: String, base: Int64, others: [Int64], disk: Disk
    ) throws(DiskError) {
        try disk.removeFile(at: Segment.path(in: directory, from: base, suffix: "index"))
        for other in others.reversed() where other != base {
            try disk.removeFile(at: Segment.path(in: directory, from: other, suffix: "index"))
            try disk.removeFile(at: Segment.path(in: directory, from: other, suffix: "log"))
        }
        try disk.rename(path, to: Segment.path(in: directory, from: base, suffix: "log"))
    }
}
