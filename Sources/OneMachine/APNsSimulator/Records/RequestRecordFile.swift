internal import Glibc
internal import Lifecycle
internal import Telemetry

/// A file of request records, mapped into memory. A record is written before its answer is sent, without a
/// system call, and survives a kill of the process. A power failure may lose the newest records.
///
/// `@unchecked Sendable` so that the reference can be passed on. While the simulator's loop runs, only the
/// loop writes. The owner of the loop opens the file before the loop starts and closes it after the loop
/// stops.
@safe final class RequestRecordFile: @unchecked Sendable {
    /// Size of a window, a part of the file that is mapped at once. Its disk space is reserved, because
    /// writing to a mapped file on a full disk would kill the process.
    static let windowBytes = 64 << 20
    private static let recordsPerWindow = windowBytes / RequestRecord.byteCount

    private let path: String
    private let log: Log
    private var descriptor: Int32
    /// The mapped windows, in the order of the file.
    @safe @exclusivity(unchecked) private var windows = unsafe [UnsafeMutableRawPointer]()
    /// Number of records.
    @safe @exclusivity(unchecked) private(set) var count = 0
    /// Number of requests that have no record because the file could not grow.
    private(set) var omittedRecords = 0

    /// Opens or creates a file. Existing records stay, and numbering continues after them.
    init(path: String, log: Log) throws {
        self.path = path
        self.log = log
        descriptor = unsafe Glibc.open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw SystemError(action: "open the records \(path)", code: errno) }
        let byteCount = Int(lseek(descriptor, 0, SEEK_END))
        guard byteCount.isMultiple(of: RequestRecord.byteCount), hasValidStart(fileBytes: byteCount) else {
            throw InputFileError(description: "\(path) is not a file of request records; choose another file")
        }
        // Rounded up, so that the windows cover the whole file.
        let windowCount = max(1, (byteCount + Self.windowBytes - 1) / Self.windowBytes)
        while unsafe windows.count < windowCount { try addWindow() }
        count = writtenCount(within: byteCount / RequestRecord.byteCount)
    }

    deinit {
        unmap()
        if descriptor >= 0 { Glibc.close(descriptor) }
    }

    /// Appends a record and returns its index, or nil if the file cannot grow.
    func append(_ record: RequestRecord) -> Int? {
        if unsafe count == windows.count * Self.recordsPerWindow {
            do { try addWindow() } catch {
                omittedRecords += 1
                log.warning("request records cannot be written; free disk space", .field("error", error))
                return nil
            }
        }
        var record = record
        record.number = UInt64(count + 1)
        unsafe record.write(to: memory(of: count))
        count += 1
        return count - 1
    }

    /// Writes the outcome into an appended record.
    func writeOutcome(at index: Int, from record: RequestRecord) {
        unsafe record.writeOutcome(to: memory(of: index))
    }

    /// Appends a record that separates the requests of two processes.
    func appendStart(at time: Int64) {
        var record = RequestRecord()
        record.kind = .simulatorStarted
        record.receivedAt = time
        _ = append(record)
    }

    /// Closes the file and frees the reserved space.
    func close() {
        guard descriptor >= 0 else { return }
        unmap()
        ftruncate(descriptor, off_t(count * RequestRecord.byteCount))
        Glibc.close(descriptor)
        descriptor = -1
    }

    // MARK: Windows

    private func addWindow() throws(SystemError) {
        let start = unsafe windows.count * Self.windowBytes
        let code = posix_fallocate(descriptor, off_t(start), off_t(Self.windowBytes))
        guard code == 0 else { throw SystemError(action: "reserve space in \(path)", code: code) }
        let window = unsafe mmap(
            nil, Self.windowBytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, off_t(start))
        guard let window = unsafe window, unsafe window != MAP_FAILED else {
            throw SystemError(action: "map \(path)", code: errno)
        }
        unsafe windows.append(window)
    }

    private func unmap() {
        for index in unsafe windows.indices { unsafe munmap(windows[index], Self.windowBytes) }
        unsafe windows = []
    }

    /// Returns the mapped memory of the record with this index.
    private func memory(of index: Int) -> UnsafeMutableRawPointer {
        unsafe windows[index / Self.recordsPerWindow]
            + index % Self.recordsPerWindow * RequestRecord.byteCount
    }

    // MARK: Existing records

    private func number(at index: Int) -> UInt64 { unsafe memory(of: index).load(as: UInt64.self) }

    /// Returns the number of written records, by a binary search. Everything after the last record is 0.
    /// - Parameter capacity: the number of records that the file has space for.
    private func writtenCount(within capacity: Int) -> Int {
        var (low, high) = (0, capacity)
        while low < high {
            let middle = (low + high) / 2
            if number(at: middle) == 0 { high = middle } else { low = middle + 1 }
        }
        return low
    }

    /// Whether the file is empty, has no record yet (number 0), or begins with record 1.
    private func hasValidStart(fileBytes byteCount: Int) -> Bool {
        var firstNumber: UInt64 = 0
        let readCount = unsafe pread(descriptor, &firstNumber, MemoryLayout<UInt64>.size, 0)
        return byteCount == 0 || (readCount == MemoryLayout<UInt64>.size && firstNumber <= 1)
    }
}
