/// The steps of a loop after which a process can die. A test receives each step and may end the process there.
///
/// Each stage has an enum with these cases and its own ones, such as `IngestStep`.
package protocol StageStep: Sendable {
    static var transactionBegun: Self { get }
    static var offsetsSent: Self { get }
    static var committed: Self { get }
    static var viewWritten: Self { get }
    static var viewOpened: Self { get }
    static var assigned: Self { get }
    static var restored: Self { get }
}

/// The steps of a stage whose transactions take the records of one batch.
package protocol RecordStep: StageStep {
    static var batchRead: Self { get }
    static var deadLettersSent: Self { get }
    static var deadLettersAcknowledged: Self { get }
    static var decided: Self { get }
    static var overlayUpdated: Self { get }
}
