internal import Glibc
internal import JSON
internal import Jobs
internal import Kafka
internal import RecordFormat

/// A filter for the receipts of one send in a lane.
struct SendReceiptFilter {
    private let send: String
    private let app: String
    private let reader = JSONReader()
    private let needle: [UInt8]

    init(send: String, app: String) {
        self.send = send
        self.app = app
        needle = Array(send.utf8)
    }

    func receipt(in record: borrowing Kafka.Record) -> Receipt? {
        // Nearly all receipts of a lane belong to other sends, so search the bytes before decoding.
        guard let value = record.value, Self.contains(needle, in: value),
            let bytes = [UInt8](copying: record.value),
            let receipt = try? Receipt.decode(bytes, with: reader), receipt.send == send, receipt.app == app
        else { return nil }
        return receipt
    }

    private static func contains(_ needle: [UInt8], in bytes: Span<UInt8>) -> Bool {
        guard let first = needle.first else { return false }
        return unsafe bytes.withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress else { return false }
            var start = 0
            while bytes.count - start >= needle.count,
                let found = unsafe memchr(base + start, Int32(first), bytes.count - start)
            {
                let place = unsafe UnsafeRawPointer(found) - base
                guard bytes.count - place >= needle.count else { return false }
                if unsafe memcmp(found, needle, needle.count) == 0 { return true }
                start = place + 1
            }
            return false
        }
    }
}
