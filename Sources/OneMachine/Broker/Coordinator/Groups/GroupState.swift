/// The states of a group, with the names that DescribeGroups and ListGroups show.
enum GroupState: String {
    case empty = "Empty"
    case preparingRebalance = "PreparingRebalance"
    case completingRebalance = "CompletingRebalance"
    case stable = "Stable"
    /// The deletion is being appended to the log. The group answers no request, and returns if the append
    /// fails.
    case dead = "Dead"
}
