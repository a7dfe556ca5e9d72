internal import Identifiers
internal import Jobs
package import Kafka
package import RecordFormat

/// A dead letter: a record that a stage rejected, and the reason. It is kept in the topic `dead-letters`. Its
/// bytes are secret, because they contain tokens and payloads.
package struct DeadLetterRecord: Sendable {
    /// A header of a Kafka record.
    package struct Header: Sendable, Hashable {
        package let name: [UInt8]
        package let value: [UInt8]?
    }

    /// The header that each redrive adds to a record: the id of the dead letter, such as `3/1042`. A resend adds the position
    /// of the sheet, such as `jobs/3/1042`.
    package static let redrivenHeader: StaticString = "flotilla-redriven"

    package let id: DeadLetterID
    /// The stage, the reason, and the position of the original record.
    package let rejection: DeadLetter
    package let key: [UInt8]?
    package let value: [UInt8]?
    /// The headers of the original record, in order.
    package let headers: [Header]

    /// Returns nil if the record is a mark or has an unknown version.
    package init?(_ record: borrowing Kafka.Record) {
        let list = record.headers
        var originalHeaders: [Header] = []
        // The headers that the stage added.
        var reasons: [(name: String, value: String)] = []
        for index in 0..<list.count {
            let name = [UInt8](copying: list[index].name)
            let value = [UInt8](copying: list[index].value)
            let text = String(decoding: name, as: UTF8.self)
            if DeadLetter.Header(rawValue: text) != nil {
                reasons.append((text, String(decoding: value ?? [], as: UTF8.self)))
            } else {
                originalHeaders.append(Header(name: name, value: value))
            }
        }
        guard let rejection = DeadLetter(headers: reasons) else { return nil }
        id = DeadLetterID(partition: record.partition, offset: record.offset)
        self.rejection = rejection
        key = [UInt8](copying: record.key)
        value = [UInt8](copying: record.value)
        headers = originalHeaders
    }

    /// Returns the value of the last original header of this name.
    package func header(named name: StaticString) -> [UInt8]? {
        let wanted = Array(name.description.utf8)
        return headers.last { $0.name == wanted }?.value
    }

    /// The app that the record names: in a header of a sheet, or as the first part of the key.
    package var app: String? {
        if let lines = header(named: SheetHeaderName.flotilla) {
            let prefix = "\(SheetLineName.app.rawValue): "
            let line = String(decoding: lines, as: UTF8.self).split(separator: "\n").first {
                $0.hasPrefix(prefix)
            }
            if let app = line?.dropFirst(prefix.count), AppIDRules.problem(String(app)) == nil {
                return String(app)
            }
        }
        guard let app = key.flatMap({ RecordKey.split($0) })?.first, AppIDRules.problem(app) == nil else {
            return nil
        }
        return app
    }

    /// The number of pushes in a sheet, or one for any other record.
    package var jobCount: Int {
        guard let lines = header(named: SheetHeaderName.to) else { return 1 }
        return max(1, lines.count { $0 == UInt8(ascii: "\n") })
    }

    /// The ids of the earlier dead letters of this record, the oldest first.
    package var previousIDs: [String] {
        let wanted = Array(Self.redrivenHeader.description.utf8)
        return headers.filter { $0.name == wanted }.map { String(decoding: $0.value ?? [], as: UTF8.self) }
    }

    /// The size of the original record in bytes.
    var byteCount: Int {
        headers.reduce((key?.count ?? 0) + (value?.count ?? 0)) {
            $0 + $1.name.count + ($1.value?.count ?? 0)
        }
    }

    /// The sheet, or nil if the record is not a readable sheet.
    package var sheet: DeadLetterSheet? { DeadLetterSheet(self) }
}
