"""Generated from contracts/shared/node_details.yaml; do not edit."""

MOST_CHARS = 200
MOST_TEXT_CHARS = 20000
MOST_COLUMNS = 8
NODES_WITHOUT_DETAIL = (
    "InMemoryTableScan",
    "LocalTableScan",
    "Scan ExistingRDD",
    "Scan OneRowRelation",
)
WRITE_NODES = (
    "AppendData",
    "AsSelect",
    "InsertInto",
    "OverwriteByExpression",
    "OverwritePartitionsDynamic",
    "ReplaceData",
    "SaveIntoDataSource",
    "WriteDelta",
    "WriteToDataSourceV2",
)
FUNCTION_NODES = (
    "AggregateInPandas",
    "ArrowAggregatePython",
    "ArrowEvalPython",
    "ArrowEvalPythonUDTF",
    "ArrowWindowPython",
    "BatchEvalPython",
    "BatchEvalPythonUDTF",
    "FlatMapCoGroupsInArrow",
    "FlatMapCoGroupsInPandas",
    "FlatMapGroupsInArrow",
    "FlatMapGroupsInPandas",
    "FlatMapGroupsInPandasWithState",
    "Generate",
    "MapInArrow",
    "MapInPandas",
    "PythonMapInArrow",
    "TransformWithStateInPandas",
    "TransformWithStateInPySpark",
    "WindowInPandas",
)
JOIN_TYPES = (
    "Cross",
    "ExistenceJoin",
    "FullOuter",
    "Inner",
    "LeftAnti",
    "LeftOuter",
    "LeftSemi",
    "RightOuter",
)
PARTITIONINGS = (
    "RebalancePartitioning",
    "RoundRobinPartitioning",
    "SinglePartition",
    "hashpartitioning",
    "rangepartitioning",
)
NO_FORMATS = (
    "Append",
    "ErrorIfExists",
    "Ignore",
    "Overwrite",
    "false",
    "true",
)
