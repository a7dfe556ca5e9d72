internal import Glibc
internal import Lifecycle
internal import Telemetry

/// A file of request records, mapped into memory: a record is there before its answer leaves, without a
/// call of the system, and stays when the process is killed. A power cut may take the newest ones.
///
/// `@unchecked Sendable` so that the reference can travel: the simulator's loop alone writes while it runs,
/// and whoever starts and stops the loop opens before and closes behind it.
@safe final class RequestRecords: @unchecked Sendable {
    /// The file grows by so much at once; its room is reserved, because writing into a mapped file that
    /// has none left would end the process.
    static let windowBytes = 64 << 20
    private static let recordsPerWindow = windowBytes / RequestRecord.bytes

    private let path: String
    private let log: Log
    private var descriptor: Int32
    @safe @exclusivity(unchecked) private var windows = unsafe [UnsafeMutableRawPointer]()
    @safe @exclusivity(unchecked) private(set) var count = 0
    /// Requests for whose records there was no room.
    private(set) var leftOut = 0

    /// Opens a file, or makes it: its records stay, and numbers go on behind them.
    init(_ path: String, log: Log) throws {
        self.path = path
        self.log = log
        descriptor = unsafe Glibc.open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw SystemError("open the records \(path)", code: errno) }
        let bytes = Int(lseek(descriptor, 0, SEEK_END))
        guard bytes.isMultiple(of: RequestRecord.bytes), hasGoodBeginning(bytes) else {
            throw GivenFileError(description: "\(path) is no file of request records; name another")
        }
        let wanted = max(1, (bytes + Self.windowBytes - 1) / Self.windowBytes)
        while unsafe windows.count < wanted { try addWindow() }
        count = written(within: bytes / RequestRecord.bytes)
    }

    deinit {
        unmap()
        if descriptor >= 0 { Glibc.close(descriptor) }
    }

    /// The record's index, for its end; nil where there was no room for it.
    func append(_ record: RequestRecord) -> Int? {
        if unsafe count == windows.count * Self.recordsPerWindow {
            do { try addWindow() } catch {
                leftOut += 1
                log.warning("no room for request records; make some", .field("error", error))
                return nil
            }
        }
        var record = record
        record.number = UInt64(count + 1)
        unsafe record.write(to: memory(of: count))
        count += 1
        return count - 1
    }

    func end(_ index: Int, with record: RequestRecord) { unsafe record.writeEnd(to: memory(of: index)) }

    /// A line between two processes.
    func noteBeginning(at time: Int64) {
        var record = RequestRecord()
        record.kind = .began
        record.receivedAt = time
        _ = append(record)
    }

    /// Gives back what was reserved.
    func close() {
        guard descriptor >= 0 else { return }
        unmap()
        ftruncate(descriptor, off_t(count * RequestRecord.bytes))
        Glibc.close(descriptor)
        descriptor = -1
    }

    // MARK: The file

    private func addWindow() throws(SystemError) {
        let start = unsafe windows.count * Self.windowBytes
        let code = posix_fallocate(descriptor, off_t(start), off_t(Self.windowBytes))
        guard code == 0 else { throw SystemError("make room in \(path)", code: code) }
        let window = unsafe mmap(
            nil, Self.windowBytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, off_t(start))
        guard let window = unsafe window, unsafe window != MAP_FAILED else {
            throw SystemError("map \(path)", code: errno)
        }
        unsafe windows.append(window)
    }

    private func unmap() {
        for index in unsafe windows.indices { unsafe munmap(windows[index], Self.windowBytes) }
        unsafe windows = []
    }

    private func memory(of index: Int) -> UnsafeMutableRawPointer {
        unsafe windows[index / Self.recordsPerWindow]
            + index % Self.recordsPerWindow * RequestRecord.bytes
    }

    private func number(at index: Int) -> UInt64 { unsafe memory(of: index).load(as: UInt64.self) }

    /// Behind the last record everything is 0.
    private func written(within capacity: Int) -> Int {
        var (low, high) = (0, capacity)
        while low < high {
            let middle = (low + high) / 2
            if number(at: middle) == 0 { high = middle } else { low = middle + 1 }
        }
        return low
    }

    /// Whether it is empty, has no record yet, or begins with the first.
    private func hasGoodBeginning(_ bytes: Int) -> Bool {
        var number: UInt64 = 0
        let read = unsafe pread(descriptor, &number, MemoryLayout<UInt64>.size, 0)
        return bytes == 0 || (read == MemoryLayout<UInt64>.size && number <= 1)
    }
}
