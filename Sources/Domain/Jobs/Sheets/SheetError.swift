/// The reason why a record of `jobs` is not a sheet, or a line of it is not a job. It goes into the dead
/// letter.
package enum SheetError: Error, Equatable, CustomStringConvertible {
    case missing(SheetLineName)
    case invalid(SheetLineName)
    case malformedLines
    case unknownVersion(Int64)
    case noJobs
    case tooManyJobs
    /// The line's number, from 0.
    case invalidJob(Int)

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
        case .invalid(let line): "the sheet's line \(line.rawValue) cannot be read"
        case .malformedLines: "a header of the sheet is not made of lines with a name and a value"
        case .unknownVersion(let version):
            "the sheet has schema version \(version), this process knows \(SheetHead.schemaVersion); update it and redrive the record"
        case .noJobs: "the sheet has no jobs"
        case .tooManyJobs: "the sheet has more than \(SheetHead.jobsMax) jobs"
        case .invalidJob(let line):
            "line \(line) of the sheet is not a token, an installation, an entry of the registry and a recipient"
        }
    }
}
