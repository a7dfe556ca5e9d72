/// The reason why a record of `jobs` is not a sheet, or a line of it is not a job. It goes into the dead
/// letter.
package enum SheetError: Error, Equatable, CustomStringConvertible {
    case missing(SheetLine)
    case wrong(SheetLine)
    case notLines
    case unknownVersion(Int64)
    case noJobs
    case tooManyJobs
    /// The line's number, from 0.
    case wrongJob(Int)

    /// A stable code, for programs and for `flotilla dead-letters --reason`.
    package var code: String {
        switch self {
        case .unknownVersion: "unknown_version"
        default: "sheet_malformed"
        }
    }

    package var description: String {
        switch self {
        case .missing(let line): "the sheet has no line \(line.rawValue)"
        case .wrong(let line): "the sheet's line \(line.rawValue) cannot be read"
        case .notLines: "a header of the sheet is not made of lines with a name and a value"
        case .unknownVersion(let version):
            "the sheet has schema version \(version), this process knows \(SheetHead.schemaVersion); update it and redrive the record"
        case .noJobs: "the sheet has no jobs"
        case .tooManyJobs: "the sheet has more than \(SheetHead.jobsMax) jobs"
        case .wrongJob(let line):
            "line \(line) of the sheet is not a token, an installation, an entry of the registry and a recipient"
        }
    }
}
