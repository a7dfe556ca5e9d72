internal import LiveActivity
internal import Store

extension LaneReader {
    /// Installations of one recipient that an answer tells of.
    private static let installationsMax = 100
    /// Timers of one owner that an answer tells of.
    private static let timersMax = 500

    func findPeople(_ question: Question, in lane: OpenLane, _ found: inout Findings) throws {
        let app = question.app
        for text in question.names {
            guard let recipient = Recipient(text: text) else { continue }
            var keys = [InstallationForm.row(recipient, app: app)]
            try findErasure(of: recipient, question, in: lane, &found)
            if case .user = recipient {
                let range = KeyRange(prefix: InstallationForm.byRecipient(recipient, app: app))
                keys += try rows(within: range, .installations, .index, in: lane, max: Self.installationsMax)
                    .map(
                        \.value)
            }
            // A backend's words on a user lie under the user's own name, where the index leads, too.
            for key in keys {
                guard let one = try installation(key, in: lane), !found.installations.contains(one) else {
                    continue
                }
                found.installations.append(one)
            }
            let timers = KeyRange(prefix: TimerForm.prefix(app: app, owner: .recipient(recipient)))
            for (_, value) in try rows(within: timers, .timers, .rows, in: lane, max: Self.timersMax) {
                if let row = TimerRow.read(value, with: reader) { found.timers.append(row) }
            }
        }
    }

    func findErasure(
        of recipient: Recipient, _ question: Question, in lane: OpenLane, _ found: inout Findings
    ) throws {
        guard case .user(let user) = recipient else { return }
        let key = InstallationForm.erasureRow(ofUser: user, app: question.app)
        if let erased = try installation(key, in: lane)?.erasedAt {
            found.erasures[recipient.text] = erased.received
        }
    }

    private func installation(_ key: [UInt8], in lane: OpenLane) throws -> Installation? {
        try value(of: key, .installations, .rows, in: lane).flatMap { Installation.read($0, with: reader) }
    }
}
