import Glibc

@testable import Broker

// Functions that change the files of a store while no broker looks.

/// Flips a bit of the byte at a position.
func flipBit(_ bit: Int, at position: Int, in path: String) {
    let descriptor = Glibc.open(path, O_RDWR)
    var byte: UInt8 = 0
    pread(descriptor, &byte, 1, position)
    byte ^= 1 << UInt8(bit)
    pwrite(descriptor, &byte, 1, position)
    close(descriptor)
}

/// Copies a file, or a directory with all its files.
func copyTree(at source: String, to target: String) {
    guard let names = try? Disk().names(in: source) else {
        let bytes = (try? Disk().contents(of: source)).flatMap { $0 } ?? []
        let descriptor = Glibc.open(target, O_WRONLY | O_CREAT, 0o644)
        _ = bytes.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
        close(descriptor)
        return
    }
    mkdir(target, 0o755)
    for name in names { copyTree(at: source + "/" + name, to: target + "/" + name) }
}

/// Replaces the files of a log by one segment with batches, as an earlier broker could have left it.
func replaceFiles(with batches: [[UInt8]], in directory: String) throws {
    let disk = Disk()
    for name in try disk.names(in: directory) { unlink(directory + "/" + name) }
    try disk.replace(Segment.path(in: directory, from: 0, suffix: "log"), with: Array(batches.joined()))
}

/// Returns the names of the partitions' directories in a store.
func logDirectories(in directory: TestDirectory) throws -> [String] {
    try Disk().names(in: directory.path + "/logs").filter { LogDirectory(name: $0) != nil }
}
