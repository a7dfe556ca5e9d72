internal import Glibc
internal import JSON
internal import Jobs
internal import Kafka
internal import RecordFormat

/// A filter that finds the receipts of one send among all records of a lane's `receipts`.
struct SendReceiptFilter {
    /// The tolerated difference between the gateway's clock and the cluster's stamps of the receipts.
    private static let clockDifferenceMilliseconds: Int64 = 60_000

    private let send: String
    private let app: String
    private let reader = JSONReader()
    private let sendBytes: [UInt8]

    init(send: String, app: String) {
        self.send = send
        self.app = app
        sendBytes = Array(send.utf8)
    }

    /// Returns the time from which on a lane can have receipts of a send, in milliseconds since 1970.
    static func firstReceiptTime(acceptedAt: Int64) -> Int64 { acceptedAt - clockDifferenceMilliseconds }

    /// Returns the receipt, or nil if the record is not a receipt of the send.
    func receipt(in record: borrowing Kafka.Record) -> Receipt? {
        // Nearly all receipts of a lane belong to other sends, so the bytes are searched before decoding.
        guard let value = record.value, Self.contains(sendBytes, in: value),
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
            // `memchr` finds the next position of the first byte, and `memcmp` compares the rest there.
            while bytes.count - start >= needle.count,
                let match = unsafe memchr(base + start, Int32(first), bytes.count - start)
            {
                let matchStart = unsafe UnsafeRawPointer(match) - base
                guard bytes.count - matchStart >= needle.count else { return false }
                if unsafe memcmp(match, needle, needle.count) == 0 { return true }
                start = matchStart + 1
            }
            return false
        }
    }
}
