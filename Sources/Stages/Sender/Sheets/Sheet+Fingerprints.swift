internal import Jobs
internal import Payloads
internal import Sends

// The fingerprints of a sheet's lines: of their subjects, activities, tokens and recipients. They are made from fields
// of the header `to`, and from the number of the app, because two apps may use the same names.
extension Sheet {
    /// Returns the subject of each line: its activity, or the installation of a start.
    func makeSubjects(seed: UInt64) -> [UInt64] {
        var subjects: [UInt64] = []
        subjects.reserveCapacity(lineCount)
        unsafe content.to.withUnsafeBytes { bytes in
            for line in index.lines {
                var builder = FingerprintBuilder(seed: seed)
                let name = head.event == .start ? line.installation : line.target
                unsafe builder.add(
                    UnsafeRawBufferPointer(
                        rebasing: bytes[Int(name.lowerBound)..<Int(name.upperBound)]))
                builder.add(app.number)
                subjects.append(builder.fingerprint.high)
            }
        }
        return subjects
    }

    /// Returns the activity of each line for sends to a recipient's scope, and no activities for other sends. The group
    /// counts too, because versions are ordered only within it.
    func makeActivities(seed: UInt64) -> [Fingerprint] {
        guard head.scope == .recipient, head.event != .start else { return [] }
        let group = Fingerprint(seed: seed, head.group ?? "")
        var activities: [Fingerprint] = []
        unsafe content.to.withUnsafeBytes { bytes in
            for line in index.lines {
                var builder = FingerprintBuilder(seed: group.high ^ app.number)
                unsafe builder.add(
                    UnsafeRawBufferPointer(
                        rebasing: bytes[Int(line.target.lowerBound)..<Int(line.target.upperBound)]))
                activities.append(builder.fingerprint)
            }
        }
        return activities
    }

    /// Returns the fingerprint of a line's token in the app's environment.
    func tokenFingerprint(of line: Int, seed: UInt64) -> UInt64 {
        fingerprint(of: index.lines[line].token, seed: seed)
    }

    /// Returns the fingerprint of a line's recipient.
    func recipientFingerprint(of line: Int, seed: UInt64) -> UInt64 {
        fingerprint(of: index.lines[line].recipient, seed: seed)
    }

    /// Returns the fingerprint of an app and a line's recipient, which is the same in all environments of the app.
    func recipientFingerprint(of line: Int, inApp app: String, seed: UInt64) -> Fingerprint {
        var app = app
        var builder = FingerprintBuilder(seed: seed)
        app.withUTF8 { unsafe builder.add(UnsafeRawBufferPointer($0)) }
        let part = index.lines[line].recipient
        unsafe content.to.withUnsafeBytes { bytes in
            unsafe builder.add(
                UnsafeRawBufferPointer(rebasing: bytes[Int(part.lowerBound)..<Int(part.upperBound)]))
        }
        return builder.fingerprint
    }

    /// - Parameter part: the range of a field in the header `to`.
    private func fingerprint(of part: Range<Int32>, seed: UInt64) -> UInt64 {
        var builder = FingerprintBuilder(seed: seed)
        unsafe content.to.withUnsafeBytes { bytes in
            unsafe builder.add(
                UnsafeRawBufferPointer(rebasing: bytes[Int(part.lowerBound)..<Int(part.upperBound)]))
        }
        builder.add(app.number)
        return builder.fingerprint.high
    }
}
