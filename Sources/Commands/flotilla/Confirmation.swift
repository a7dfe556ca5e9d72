internal import Glibc
internal import Lifecycle

extension Invocation {
    /// Returns if the person answers yes or passed `--yes`, and throws otherwise.
    func confirm(orElse nothingDone: String) throws {
        let isConfirmed = options["--yes"] != nil
        if !isConfirmed { print("Continue? Type yes: ", terminator: "") }
        // If standard output is a file, the plan must be written to it before the first line of progress.
        fflush(nil)
        if isConfirmed { return }
        guard readLine() == "yes" else {
            throw CommandError(status: .usage, "\(nothingDone); use --yes to skip this question")
        }
    }

    /// Writes to standard error, because a program may read standard output.
    func printProgress(_ text: String) {
        StandardError.printLine(text)
    }
}
